// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"text/template"

	"github.com/servicebulkhead/servicebulkhead/hack/pods/layout"
	"github.com/servicebulkhead/servicebulkhead/hack/pods/parts"
)

//go:embed config
var configFiles embed.FS

// proxyHealth is where kube-proxy says that its rules are in force.
const proxyHealth = "127.0.0.1:10256"

// values are what the templates below config refer to.
type values struct {
	Node     layout.Layout
	Programs parts.Programs

	NodeName, NodeIP, PodCIDR, ClusterDNS, ClusterDomain string

	Socket, PauseImage, ProxyHealth string

	OpenFiles uint64
}

func newValues(node layout.Layout, programs parts.Programs) (values, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return values{}, fmt.Errorf("limit of open files: %w", err)
	}
	return values{
		Node: node, Programs: programs,
		NodeName: layout.NodeName, NodeIP: layout.NodeIP, PodCIDR: layout.PodCIDR,
		ClusterDNS: layout.ClusterDNS, ClusterDomain: layout.ClusterDomain,
		Socket: layout.Socket, PauseImage: layout.PauseImage, ProxyHealth: proxyHealth,
		OpenFiles: min(limit.Max, 1_000_000), // the kubelet's default
	}, nil
}

// writeConfig writes the components' configuration below the node's etc; that of
// CNI into a directory of its own, which containerd reads as a whole.
func writeConfig(v values) error {
	files, err := template.New("").Option("missingkey=error").ParseFS(configFiles, "config/*")
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	var errs []error
	for _, file := range files.Templates() {
		var text strings.Builder
		if err := file.Execute(&text, v); err != nil {
			return fmt.Errorf("configuration: %w", err)
		}
		path := v.Node.Etc(file.Name())
		if strings.HasSuffix(path, ".conflist") {
			path = filepath.Join(v.Node.Etc("cni"), file.Name())
		}
		errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text.String()), 0o644))
	}
	return errors.Join(errs...)
}
