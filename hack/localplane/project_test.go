// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"bufio"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestProjectLaysFilesOutAsAKubeletDoes(t *testing.T) {
	project := filepath.Join(realAssets(t), "project")
	dir := filepath.Join(t.TempDir(), "made", "on", "demand")
	projectFiles(t, project, dir, map[string]string{"a": "1", "b": "1"})
	wantVolume(t, dir, map[string]string{"a": "1", "b": "1"})
	data, before := filepath.Join(dir, "..data"), dataDir(t, dir)
	if link, err := os.Readlink(filepath.Join(dir, "a")); err != nil || link != "..data/a" {
		t.Errorf("a is a link to %q, %v; want ..data/a", link, err)
	}

	projectFiles(t, project, dir, map[string]string{"a": "1", "b": "1"})
	if after := dataDir(t, dir); after != before {
		t.Errorf("equal content moved %s from %s to %s", data, before, after)
	}

	projectFiles(t, project, dir, map[string]string{"a": "2"})
	wantVolume(t, dir, map[string]string{"a": "2"})
	if after := dataDir(t, dir); after == before {
		t.Errorf("new content left %s at %s", data, before)
	}
	if _, err := os.Lstat(filepath.Join(dir, before)); !os.IsNotExist(err) {
		t.Errorf("old content is still there: %v", err)
	}
}

// A reader that resolves ..data once sees files of one projection, or none when
// it was too slow and they are gone; never a mixture.
func TestProjectSwapsAllFilesAtOnce(t *testing.T) {
	project, dir := filepath.Join(realAssets(t), "project"), t.TempDir()
	projectFiles(t, project, dir, map[string]string{"a": "0", "b": "0"})
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := range 20 {
			value := strings.Repeat("x", i+1)
			projectFiles(t, project, dir, map[string]string{"a": value, "b": value})
		}
	}()
	defer func() { <-written }()
	for reads := 0; ; reads++ {
		resolved := filepath.Join(dir, dataDir(t, dir))
		a, errA := os.ReadFile(filepath.Join(resolved, "a"))
		b, errB := os.ReadFile(filepath.Join(resolved, "b"))
		if errA == nil && errB == nil && string(a) != string(b) {
			t.Fatalf("a is %q, b is %q", a, b)
		}
		select {
		case <-written:
			t.Logf("%d reads", reads)
			return
		default:
		}
	}
}

func TestProjectRefusesHalfACommand(t *testing.T) {
	project := filepath.Join(realAssets(t), "project")
	for want, args := range map[string][]string{
		"--dir is required":     {"--from-file", "a=b"},
		"exactly one of":        {"--dir", t.TempDir()},
		"must be KEY=FILE":      {"--dir", t.TempDir(), "--from-file", "a"},
		"no such file":          {"--dir", t.TempDir(), "--from-file", "a=/does/not/exist"},
		"exactly one of --name": {"--dir", t.TempDir(), "--from-file", "a=b", "--name", "c"},
	} {
		out, err := exec.CommandContext(t.Context(), project, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("project %q: %v, %q; want %q", args, err, out, want)
		}
	}
}

func TestProjectFollowsAConfigMap(t *testing.T) {
	plane := sharedPlane(t)
	namespace, dir := newNamespace(t, plane), t.TempDir()
	configMaps := clientOf(t, plane).CoreV1().ConfigMaps(namespace)
	project := startProject(t, plane, "--dir", dir, "--kubeconfig", plane.KubeconfigFile, "--namespace", namespace, "--name", "bulkheads")

	project.wantLine(t, "none", 0)
	wantVolume(t, dir, nil)
	dataDir(t, dir)

	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bulkheads"}, Data: map[string]string{"a": "1", "b": "1"}}
	made, err := configMaps.Create(t.Context(), configMap, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	project.wantLine(t, made.ResourceVersion, 2)
	wantVolume(t, dir, made.Data)

	made.Data = map[string]string{"a": "2"}
	updated, err := configMaps.Update(t.Context(), made, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	project.wantLine(t, updated.ResourceVersion, 1)
	wantVolume(t, dir, updated.Data)

	if err := configMaps.Delete(t.Context(), "bulkheads", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	project.wantLine(t, "none", 0)
	wantVolume(t, dir, nil)
	project.stop(t)
}

// projectFiles projects the content once. It may be called from any goroutine.
func projectFiles(t *testing.T, project, dir string, content map[string]string) {
	t.Helper()
	args := []string{"--dir", dir}
	for key, text := range content {
		file, err := os.CreateTemp(t.TempDir(), key)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = file.WriteString(text)
		_ = file.Close()
		args = append(args, "--from-file", key+"="+file.Name())
	}
	if out, err := exec.CommandContext(t.Context(), project, args...).CombinedOutput(); err != nil {
		t.Errorf("project: %v\n%s", err, out)
	}
}

// dataDir returns where ..data leads.
func dataDir(t *testing.T, dir string) string {
	t.Helper()
	link, err := os.Readlink(filepath.Join(dir, "..data"))
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// wantVolume compares the files that an application sees, ..data and the like aside.
func wantVolume(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, path := range glob(t, dir) {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "..") {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		got[name] = string(content)
	}
	if !maps.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
}

// projectProcess is `project` following a ConfigMap.
type projectProcess struct {
	cmd   *exec.Cmd
	lines chan string // what it says; closed at its end
}

func startProject(t *testing.T, plane *Plane, args ...string) *projectProcess {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), plane.Binary("project"), args...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &projectProcess{cmd: cmd, lines: make(chan string, 100)}
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	return p
}

var projected = regexp.MustCompile(`^projected resourceVersion=(\w+) files=(\d+) duration=\S+$`)

func (p *projectProcess) wantLine(t *testing.T, version string, files int) {
	t.Helper()
	select {
	case line := <-p.lines:
		got := projected.FindStringSubmatch(line)
		if got == nil || got[1] != version || got[2] != strconv.Itoa(files) {
			t.Fatalf("project said %q, want resourceVersion %s, %d files", line, version, files)
		}
	case <-time.After(patience):
		t.Fatalf("project said nothing for %s", patience)
	}
}

// stop asks the process to end and wants it to do so without a complaint.
func (p *projectProcess) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	for line := range p.lines {
		t.Errorf("project said %q after SIGTERM", line)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("project: %v", err)
	}
}
