// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/cgroup"
)

// Facts are what was found on a machine. A field of type Trial is empty when what
// it stands for works.
type Facts struct {
	OS  string // as Go names it
	UID int    // the effective user

	// Commands are those in PATH that fetch and unpack packages.
	Commands []string
	// Runtime says that a complete container runtime is in PATH.
	Runtime bool

	// StateDir is where the node's files shall be.
	StateDir string
	// Cgroups are the hierarchies as this process sees them.
	Cgroups cgroup.Tree

	// Namespaces is the trial to start a process in namespaces of its own. If
	// that fails, the trials below are not made.
	Namespaces Trial
	Trials     Trials
}

// Trial is why something does not work, or empty.
type Trial string

// Trials are what was tried in namespaces of their own.
type Trials struct {
	Private  Trial // keep mounts to oneself; if that fails, no other trial is made
	Join     Trial // join namespaces by a descriptor of a process in them
	Proc     Trial // mount /proc
	Overlay  Trial // mount an overlay whose upper layer is in the state directory
	Bridge   Trial // make a bridge
	Veth     Trial // make a pair of virtual interfaces
	Sysctl   Trial // write a sysctl of the network namespace
	Nftables Trial // talk to nftables
}

// packageCommands are what it takes to get at a container runtime.
var packageCommands = []string{"apt-get", "dpkg"}

// need is a controller of cgroups, and who needs it.
type need struct{ controller, reason string }

var (
	needsV1 = []need{
		{"cpu", "the kubelet gives pods their share of the processors through it"},
		{"cpuacct", "the kubelet measures pods through it"},
		{"cpuset", "the kubelet refuses to start without it"},
		{"memory", "the kubelet limits pods' memory through it"},
		{"pids", "the kubelet limits pods' processes through it"},
		{"devices", "runc restricts devices through it, and starts no container otherwise"},
		{"freezer", "runc stops containers through it"},
	}
	needsV2 = []need{
		{"cpu", "the kubelet gives pods their share of the processors through it"},
		{"cpuset", "the kubelet refuses to start without it"},
		{"memory", "the kubelet limits pods' memory through it"},
		{"pids", "the kubelet limits pods' processes through it"},
	}
)

// Missing returns a line for everything without which no node runs here: what it
// is, and why it is needed. None means that a node can run.
func Missing(f Facts) []string {
	if f.OS != "linux" {
		return []string{"Linux: a kubelet runs pods in its namespaces and cgroups; this is " + f.OS}
	}
	if f.UID != 0 {
		return []string{fmt.Sprintf("root: namespaces, mounts and cgroups are made by it alone; this is user %d", f.UID)}
	}
	return slices.Concat(missingPrograms(f), missingCgroups(f.Cgroups), missingPlace(f.StateDir), missingRights(f))
}

func missingPrograms(f Facts) []string {
	if f.Runtime {
		return nil
	}
	var lines []string
	for _, name := range packageCommands {
		if !slices.Contains(f.Commands, name) {
			lines = append(lines, name+": containerd, runc and nft are not all in PATH, and are otherwise unpacked from Debian's packages")
		}
	}
	return lines
}

func missingCgroups(tree cgroup.Tree) []string {
	if len(tree.Hierarchies) == 0 {
		return []string{"cgroups: pods are measured and limited through them; none is mounted"}
	}
	version, needs := "cgroup v1 hierarchy", needsV1
	if tree.Unified {
		version, needs = "cgroup v2 controller", needsV2
	}
	var lines []string
	for _, need := range needs {
		if _, found := tree.Find(need.controller); !found {
			lines = append(lines, fmt.Sprintf("%s %s: %s; it is not there", version, need.controller, need.reason))
		}
	}
	for _, hierarchy := range tree.Hierarchies {
		if hierarchy.ReadOnly && (tree.Unified || len(hierarchy.Controllers) > 0) {
			lines = append(lines, fmt.Sprintf("%s to be written: pods' cgroups are made in it; it is mounted read-only", hierarchy.Dir))
		}
	}
	return lines
}

// missingPlace: /var/lib and /var/log become overlays inside the node, and an
// overlay cannot be its own upper layer.
func missingPlace(stateDir string) []string {
	for _, dir := range []string{"/run", "/var/lib", "/var/log"} {
		if inside, err := filepath.Rel(dir, stateDir); err == nil && inside != ".." && !strings.HasPrefix(inside, "../") {
			return []string{fmt.Sprintf("another state directory (-root): inside the node something else lies on %s, which %s is below", dir, stateDir)}
		}
	}
	return nil
}

func missingRights(f Facts) []string {
	if f.Namespaces != "" {
		return []string{fmt.Sprintf("CAP_SYS_ADMIN: a node has network, mount, pid, uts and ipc namespaces of its own: %s", f.Namespaces)}
	}
	var lines []string
	for _, trial := range []struct {
		result Trial
		words  string
	}{
		{f.Trials.Private, "private mounts: the machine shall not see the node's; in a chroot it would"},
		{f.Trials.Join, "Linux 5.8 or later: commands join the node's namespaces through a pidfd"},
		{f.Trials.Proc, "mounts of /proc: processes of the node see each other, and no others"},
		{f.Trials.Overlay, "overlayfs on " + f.StateDir + ": containerd stacks images with it"},
		{f.Trials.Bridge, "bridge interfaces: pods are attached to one"},
		{f.Trials.Veth, "veth interfaces: they attach pods to the bridge"},
		{f.Trials.Sysctl, "/proc/sys to be written: the node's network namespace has to forward packets"},
		{f.Trials.Nftables, "nftables in the kernel: kube-proxy makes Services with it"},
	} {
		if trial.result != "" {
			lines = append(lines, fmt.Sprintf("%s: %s", trial.words, trial.result))
		}
	}
	return lines
}
