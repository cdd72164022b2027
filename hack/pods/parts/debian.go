// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package parts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// packages are Debian's, and Ubuntu's: containerd, runc, and nft with the libraries
// that a machine without nft need not have either. All else is there where apt is.
var packages = []string{
	"containerd", "runc", "nftables", "libnftables1", "libnftnl11", "libjansson4", "libxtables12", "libmnl0",
	"libedit2", "libbsd0", "libmd0",
}

// aptConfig keeps apt from the system's lists, caches and hooks: whoever has no
// say in what is installed shall not change what apt knows, either. It is read
// after the system's configuration, which may hold a proxy.
const aptConfig = `Dir::State "%[1]s/state";
Dir::State::status "%[1]s/status";
Dir::Cache "%[1]s/cache";
Dir::Log "%[1]s/log";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
`

// runtime returns the paths of the programs of runtimeNames, and the directory of
// nft's libraries if they are not the system's.
func (s store) runtime(ctx context.Context) (programs map[string]string, libraries string, err error) {
	if programs, complete := InPath(); complete {
		return programs, "", nil
	}
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return nil, "", fmt.Errorf("name of the distribution: %w", err)
	}
	dir, err := s.get(ctx, runtimeKey(string(release)), func(dir string) error { return s.unpack(ctx, dir) })
	if err != nil {
		return nil, "", err
	}
	return findRuntime(dir)
}

// InPath returns the programs of a container runtime that are in PATH, and whether
// these are all that a node needs.
func InPath() (programs map[string]string, complete bool) {
	programs = map[string]string{}
	for _, name := range runtimeNames {
		if path, err := exec.LookPath(name); err == nil {
			programs[name] = path
		}
	}
	return programs, len(programs) == len(runtimeNames)
}

// runtimeKey names the packages by what decides their versions, which only a look
// at the archive's lists would tell: the release, and what is asked of it.
func runtimeKey(osRelease string) string {
	sum := sha256.Sum256([]byte(strings.Join(packages, " ") + aptConfig))
	return strings.Join([]string{
		"runtime", osField(osRelease, "ID"), osField(osRelease, "VERSION_ID"), runtime.GOARCH, hex.EncodeToString(sum[:4]),
	}, "-")
}

// osField returns the value of a field of os-release(5).
func osField(osRelease, name string) string {
	for line := range strings.Lines(osRelease) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return "unknown"
}

// unpack downloads the packages and unpacks them into dir. The file "versions" in
// it says what they were.
func (s store) unpack(ctx context.Context, dir string) error {
	_, _ = fmt.Fprintln(s.out, "downloading containerd, runc and nftables as packages, to unpack and not to install them")
	files, err := download(ctx, filepath.Join(dir, "apt"))
	if err != nil {
		return err
	}
	var versions strings.Builder
	for _, file := range files {
		if err := run(command(ctx, "", "dpkg", "-x", file, dir)); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(&versions, filepath.Base(file))
	}
	if err := tryRuntime(ctx, dir); err != nil {
		return err
	}
	return errors.Join(
		os.RemoveAll(filepath.Join(dir, "apt")),
		os.WriteFile(filepath.Join(dir, "versions"), []byte(versions.String()), 0o644))
}

// tryRuntime runs those of the unpacked programs that need libraries: one that is missing
// here is told now, and not by a Service or a pod that fails.
func tryRuntime(ctx context.Context, dir string) error {
	programs, libraries, err := findRuntime(dir)
	if err != nil {
		return err
	}
	for _, name := range []string{"nft", "runc"} {
		cmd := command(ctx, "", programs[name], "--version")
		cmd.Env = []string{}
		if name == "nft" {
			cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+libraries)
		}
		if err := run(cmd); err != nil {
			return err
		}
	}
	return nil
}

// download returns the files of the packages, below the directory apt, which holds
// apt's state as well.
func download(ctx context.Context, apt string) ([]string, error) {
	config := filepath.Join(apt, "apt.conf")
	for _, dir := range []string{"state/lists/partial", "cache/archives/partial", "log", "debs"} {
		if err := os.MkdirAll(filepath.Join(apt, dir), 0o755); err != nil {
			return nil, err
		}
	}
	err := errors.Join(
		os.WriteFile(filepath.Join(apt, "status"), nil, 0o644), // as on a machine without any package
		os.WriteFile(config, fmt.Appendf(nil, aptConfig, apt), 0o644))
	if err != nil {
		return nil, err
	}
	debs := filepath.Join(apt, "debs")
	// An archive that cannot be reached is a warning, and may not matter.
	warnings, err := output(command(ctx, debs, "apt-get", "-qq", "-c", config, "update"))
	if err != nil {
		return nil, err
	}
	args := slices.Concat([]string{"-qq", "-c", config, "download"}, packages)
	if err := run(command(ctx, debs, "apt-get", args...)); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, bytes.TrimSpace(warnings))
	}
	return filepath.Glob(filepath.Join(debs, "*.deb"))
}

// findRuntime finds the programs, and nft's libraries, in unpacked packages.
func findRuntime(dir string) (programs map[string]string, libraries string, err error) {
	programs = map[string]string{}
	for _, name := range runtimeNames {
		paths, _ := filepath.Glob(filepath.Join(dir, "usr", "*bin", name))
		if len(paths) == 0 {
			return nil, "", fmt.Errorf("packages in %s: no program %s in them", dir, name)
		}
		programs[name] = paths[0]
	}
	found, _ := filepath.Glob(filepath.Join(dir, "usr", "lib", "*", "libnftables.so.1"))
	if len(found) == 0 {
		return nil, "", fmt.Errorf("packages in %s: no libnftables.so.1 in them", dir)
	}
	return programs, filepath.Dir(found[0]), nil
}
