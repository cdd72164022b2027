// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"
	"strings"
	"testing"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/cgroup"
)

// able is a machine on which a node can run.
func able() Facts {
	return Facts{
		OS: "linux", Commands: []string{"apt-get", "dpkg"}, StateDir: "/cache/servicebulkhead/node",
		Cgroups: cgroup.Tree{Hierarchies: []cgroup.Hierarchy{
			{Dir: "/sys/fs/cgroup/cpu", Controllers: []string{"cpu", "cpuacct", "cpuset"}},
			{Dir: "/sys/fs/cgroup/all", Controllers: []string{"memory", "pids", "devices", "freezer"}},
		}},
	}
}

func TestMissing(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Facts)
		want   []string // how each line begins
	}{
		"nothing":               {func(*Facts) {}, nil},
		"another system":        {func(f *Facts) { f.OS, f.UID = "darwin", 501 }, []string{"Linux:"}},
		"not root":              {func(f *Facts) { f.UID, f.Cgroups = 1000, cgroup.Tree{} }, []string{"root:"}},
		"no packages":           {func(f *Facts) { f.Commands = nil }, []string{"apt-get:", "dpkg:"}},
		"no packages, no need":  {func(f *Facts) { f.Commands, f.Runtime = nil, true }, nil},
		"no cgroups":            {func(f *Facts) { f.Cgroups = cgroup.Tree{} }, []string{"cgroups:"}},
		"some hierarchies":      {func(f *Facts) { f.Cgroups.Hierarchies[1].Controllers = []string{"memory", "pids"} }, []string{"cgroup v1 hierarchy devices:", "cgroup v1 hierarchy freezer:"}},
		"a read-only hierarchy": {func(f *Facts) { f.Cgroups.Hierarchies[1].ReadOnly = true }, []string{"/sys/fs/cgroup/all to be written:"}},
		"one that nobody needs": {func(f *Facts) {
			f.Cgroups.Hierarchies = append(f.Cgroups.Hierarchies, cgroup.Hierarchy{ReadOnly: true})
		}, nil},
		"version 2":               {func(f *Facts) { f.Cgroups = version2("cpu", "cpuset", "memory", "pids") }, nil},
		"version 2 in parts":      {func(f *Facts) { f.Cgroups = version2("cpu", "memory") }, []string{"cgroup v2 controller cpuset:", "cgroup v2 controller pids:"}},
		"a place that is covered": {func(f *Facts) { f.StateDir = "/var/lib/ci/node" }, []string{"another state directory"}},
		"a place beside it":       {func(f *Facts) { f.StateDir = "/var/library/node" }, nil},
		"no right to namespaces":  {func(f *Facts) { f.Namespaces = "operation not permitted" }, []string{"CAP_SYS_ADMIN:"}},
		"all that is tried": {
			func(f *Facts) { f.Trials = Trials{"no", "no", "no", "no", "no", "no", "no", "no"} },
			[]string{"private mounts:", "Linux 5.8 or later:", "mounts of /proc:", "overlayfs on /cache/servicebulkhead/node:", "bridge interfaces:", "veth interfaces:", "/proc/sys to be written:", "nftables in the kernel:"},
		},
		"several things": {
			func(f *Facts) { f.Commands, f.StateDir, f.Namespaces = nil, "/run/node", "no" },
			[]string{"apt-get:", "dpkg:", "another state directory", "CAP_SYS_ADMIN:"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			facts := able()
			test.change(&facts)
			lines := Missing(facts)
			if !slices.EqualFunc(lines, test.want, strings.HasPrefix) {
				t.Errorf("got %q, want lines that begin with %q", lines, test.want)
			}
		})
	}
}

func version2(controllers ...string) cgroup.Tree {
	return cgroup.Tree{Unified: true, Hierarchies: []cgroup.Hierarchy{{Dir: "/sys/fs/cgroup", Controllers: controllers}}}
}
