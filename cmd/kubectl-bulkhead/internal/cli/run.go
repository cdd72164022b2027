// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	codeFine  = 0 // nothing is wrong
	codeWrong = 1 // an object is
	codeStuck = 2 // the command could not do its work
)

// Run is the whole command; it returns the exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	code := codeFine
	root := &cobra.Command{
		Use:   "kubectl-bulkhead",
		Short: "Check ServiceBulkheads without a cluster",
		Annotations: map[string]string{
			cobra.CommandDisplayNameAnnotation: "kubectl bulkhead",
		},
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(validateCommand(&code), versionCommand())
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.Execute(); err != nil {
		fmt.Fprintf(stderr, "error: %v\n", err)
		return codeStuck
	}
	return code
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "kubectl-bulkhead %s %s\n", version(), runtime.Version())
			return err
		},
	}
}

// version is what the Go toolchain noted at build time.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
