// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
)

// masks are the sysctls that the kubelet sets and that no namespace has for
// itself, with the values it wants (kubelet/cm, setupKernelTunables). It reads and
// writes files of the node's instead.
var masks = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// overlaid are directories that components write to whatever they are told. What
// they write lies in the node's directory.
var overlaid = []string{"/var/lib", "/var/log"}

// settle makes the namespaces ready for the components.
func settle(node layout.Layout) error {
	if err := unix.Sethostname([]byte(layout.NodeName)); err != nil {
		return fmt.Errorf("host name: %w", err)
	}
	if err := settleMounts(node); err != nil {
		return fmt.Errorf("mounts: %w", err)
	}
	if err := settleNetwork(); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	return nil
}

func settleMounts(node layout.Layout) error {
	// Private first, so that nothing goes out to the machine; then shared, since
	// the kubelet's mounts have to reach the containers.
	for _, propagation := range []uintptr{unix.MS_PRIVATE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", unix.MS_REC|propagation, ""); err != nil {
			return fmt.Errorf("propagation: %w", err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	for sysctl, value := range masks {
		if err := mask(node, sysctl, value); err != nil {
			return fmt.Errorf("/proc/sys/%s: %w", sysctl, err)
		}
	}
	if err := maskResolver(node); err != nil {
		return fmt.Errorf("/etc/resolv.conf: %w", err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("/run: %w", err)
	}
	for _, dir := range overlaid {
		if err := overlay(node, dir); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

func mask(node layout.Layout, sysctl, value string) error {
	target := filepath.Join("/proc/sys", sysctl)
	if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
		return nil // not every kernel has it
	}
	file := filepath.Join(node.Run("sysctl"), sysctl)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
		return err
	}
	return unix.Mount(file, target, "", unix.MS_BIND, "")
}

// maskResolver has lookups inside the node fail at once, and not after a wait for
// name servers that cannot be reached. A link leads to /run as a rule, where
// nothing will be: without a file, nobody is asked either.
func maskResolver(node layout.Layout) error {
	const file = "/etc/resolv.conf"
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // none is fine
	}
	return unix.Mount(node.Etc("resolv.conf"), file, "", unix.MS_BIND, "")
}

func overlay(node layout.Layout, dir string) error {
	name := strings.ReplaceAll(strings.TrimPrefix(dir, "/"), "/", "-")
	upper, work := node.Var(name), node.Var(name+".work")
	for _, layer := range []string{upper, work} {
		if err := os.MkdirAll(layer, 0o755); err != nil {
			return err
		}
	}
	return unix.Mount("overlay", dir, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", dir, upper, work))
}

// settleNetwork gives the node an address on a bridge that nothing is attached to.
// Packets for Services need a route before nftables turns them elsewhere: hence
// the default route, to nobody.
func settleNetwork() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("lo: %w", err)
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "node0"}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	address, err := netlink.ParseAddr(layout.NodeCIDR)
	if err != nil {
		return err
	}
	gateway, err := netlink.ParseAddr(layout.Gateway + "/32")
	if err != nil {
		return err
	}
	for _, do := range []func() error{
		func() error { return netlink.LinkSetUp(lo) },
		func() error { return netlink.AddrAdd(bridge, address) },
		func() error { return netlink.LinkSetUp(bridge) },
		func() error { return netlink.RouteAdd(&netlink.Route{LinkIndex: bridge.Index, Gw: gateway.IP}) },
		func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) },
		// Every packet that is refused is told so: one a second would leave the others to time out.
		func() error { return os.WriteFile("/proc/sys/net/ipv4/icmp_ratelimit", []byte("0"), 0) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}
