// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/parts"
)

func TestCheckReady(t *testing.T) {
	for name, test := range map[string]struct{ node, want string }{
		"ready":     {`{"status": {"conditions": [{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": "True"}]}}`, ""},
		"not ready": {`{"status": {"conditions": [{"type": "Ready", "status": "False", "message": "cni plugin not initialized"}]}}`, "cni plugin not initialized"},
		"silent":    {`{"status": {}}`, "the kubelet has not said anything yet"},
		"other":     {`[]`, "json: cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			if err := checkReady([]byte(test.node)); err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, test.want) || (test.want == "") != (got == "") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestFollow(t *testing.T) {
	var steps []string
	step := func(words string) { steps = append(steps, words) }
	if err := Follow(strings.NewReader(`{"step": "one"} {"step": "two"} {"ready": true} {"step": "never"}`), step); err != nil {
		t.Error(err)
	}
	if !slices.Equal(steps, []string{"one", "two"}) {
		t.Errorf("steps %q", steps)
	}
	var failure Failure
	err := Follow(strings.NewReader(`{"failure": {"reason": "etcd ended", "log": "etcd"}}`), step)
	if !errors.As(err, &failure) || failure.Log != "etcd" || err.Error() != "etcd ended" {
		t.Errorf("got %v, want the failure that was sent", err)
	}
	if err := Follow(strings.NewReader(`{"step": "one"} {"st`), step); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v of one that died, want io.ErrUnexpectedEOF", err)
	}
}

// What a template refers to and is not there would be told by the API server's or
// the kubelet's refusal to start: here it is told at once.
func TestWriteConfig(t *testing.T) {
	node := layout.Layout{Root: t.TempDir()}
	v, err := newValues(node, parts.Programs{CNI: "/cache/plugins"})
	if err != nil {
		t.Fatal(err)
	}
	if err := writeConfig(v); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"containerd.toml":        `bin_dir = "/cache/plugins"`,
		"cni/10-bridge.conflist": `"subnet": "` + layout.PodCIDR + `"`,
		"kubelet.yaml":           "cgroupRoot: /" + node.Cgroup(),
		"kube-proxy.yaml":        "kubeconfig: " + node.Kubeconfig("kube-proxy"),
		"resolv.conf":            "nameserver " + layout.ClusterDNS,
	} {
		text, err := os.ReadFile(node.Etc(file))
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "<no value>") {
			t.Errorf("%s: %v: not as wanted, with %q:\n%s", file, err, want, text)
		}
	}
	conflist, err := os.ReadFile(node.Etc("cni/10-bridge.conflist"))
	if err != nil || !json.Valid(conflist) {
		t.Errorf("the network's configuration is no JSON: %v:\n%s", err, conflist)
	}
}

// The kubelet's own pace is what people come to see.
func TestTheKubeletKeepsItsDefaultSync(t *testing.T) {
	text, err := configFiles.ReadFile("config/kubelet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		for _, field := range []string{"syncFrequency:", "configMapAndSecretChangeDetectionStrategy:"} {
			if strings.HasPrefix(line, field) {
				t.Errorf("%q changes how soon pods follow", line)
			}
		}
	}
}
