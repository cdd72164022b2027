// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/cgroup"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/parts"
)

// Namespaces are those that a node has for itself.
const Namespaces = unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC

// Look gathers the facts. It runs the command prober with a scratch directory as
// its last argument, in namespaces of its own; there Try must be called, and its
// result printed as JSON.
func Look(ctx context.Context, stateDir string, prober ...string) (Facts, error) {
	f := Facts{OS: runtime.GOOS, UID: os.Geteuid(), StateDir: stateDir}
	for _, name := range packageCommands {
		if _, err := exec.LookPath(name); err == nil {
			f.Commands = append(f.Commands, name)
		}
	}
	_, f.Runtime = parts.InPath()
	var err error
	if f.Cgroups, err = cgroup.Find(); err != nil {
		return f, err
	}
	if f.UID != 0 {
		return f, nil // the rest would only say so again
	}
	scratch, err := os.MkdirTemp(existing(stateDir), "servicebulkhead-check-*")
	if err != nil {
		return f, fmt.Errorf("state directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	err = f.try(ctx, append(prober, scratch))
	return f, err
}

// existing is the nearest directory, from dir upwards, that exists.
func existing(dir string) string {
	for dir != filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

func (f *Facts) try(ctx context.Context, prober []string) error {
	cmd := exec.CommandContext(ctx, prober[0], prober[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: Namespaces}
	cmd.Stderr = os.Stderr
	printed, err := cmd.Output()
	if refused, ok := errors.AsType[*fs.PathError](err); ok { // by clone: the program has not even started
		f.Namespaces = Trial(refused.Err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("try what the machine allows: %w", err)
	}
	return json.Unmarshal(printed, &f.Trials)
}

// Try tries what a node needs. It must run in Namespaces, as their first process.
// The directory scratch is the caller's to remove.
func Try(scratch string) Trials {
	// What is mounted before this has worked may be mounted on the machine as well.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return Trials{Private: result(fmt.Errorf("/: %w", err))}
	}
	return Trials{
		Join:     result(tryJoin()),
		Proc:     result(unix.Mount("proc", "/proc", "proc", 0, "")),
		Overlay:  result(tryOverlay(scratch)),
		Bridge:   result(netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "try0"}})),
		Veth:     result(netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "try1"}, PeerName: "try2"})),
		Sysctl:   result(os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)),
		Nftables: result(tryNftables()),
	}
}

func result(err error) Trial {
	if err != nil {
		return Trial(err.Error())
	}
	return ""
}

// tryJoin joins a namespace that this thread is in: it is about the call.
func tryJoin() error {
	process, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return fmt.Errorf("pidfd_open: %w", err)
	}
	defer func() { _ = unix.Close(process) }()
	if err := unix.Setns(process, unix.CLONE_NEWUTS); err != nil {
		return fmt.Errorf("setns: %w", err)
	}
	return nil
}

func tryOverlay(scratch string) error {
	for _, dir := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(scratch, dir), 0o755); err != nil {
			return err
		}
	}
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", scratch)
	merged := filepath.Join(scratch, "merged")
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		return err
	}
	return unix.Unmount(merged, 0)
}

// tryNftables asks the kernel for the generation of its rules.
func tryNftables() error {
	request := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_GETGEN, 0)
	request.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC})
	_, err := request.Execute(unix.NETLINK_NETFILTER, 0)
	return err
}
