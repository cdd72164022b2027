// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/servicebulkhead/servicebulkhead/cmd/kubectl-bulkhead/internal/judge"
	"github.com/servicebulkhead/servicebulkhead/cmd/kubectl-bulkhead/internal/manifest"
)

const (
	validateLong = `Check the ServiceBulkheads in files, in directories or on stdin: what the API server
would refuse, what the operator would refuse because of another object of the
input, and what is legal but risky. Objects of other kinds are counted and skipped.
No cluster is needed, and none is asked: what only a change can break (spec.service
and spec.configMapName are immutable) shows when the change is applied.

Findings go to stdout, a line each, the file and the line first; everything else
goes to stderr.

Exit codes:
  0  nothing is wrong; there may be warnings
  1  an object is wrong, or there are warnings and --warnings-as-errors is given
  2  not everything could be checked: a wrong flag, a file that is missing or no
     YAML, a directory without manifests; or no ServiceBulkhead at all, unless
     --allow-empty is given`

	validateExample = `  kubectl bulkhead validate -f manifests/ -R
  kustomize build overlays/production | kubectl bulkhead validate -f -
  helm template chart/ | kubectl bulkhead validate -n shop -f - -o json`
)

// options are the flags of validate.
type options struct {
	files            []string
	recursive        bool
	namespace        string
	output           string
	warningsAsErrors bool
	allowEmpty       bool
}

func validateCommand(code *int) *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:     "validate -f FILE|DIRECTORY|-",
		Short:   "Check manifests for what the API server or the operator would refuse",
		Long:    validateLong,
		Example: validateExample,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			*code, err = o.run(c)
			return err
		},
	}
	flags := command.Flags()
	flags.SortFlags = false
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "`file` or directory to check, - for stdin; may be repeated")
	flags.BoolVarP(&o.recursive, "recursive", "R", false, "look into sub-directories too")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "the `namespace` of objects that name none; absent, they are a namespace of their own")
	flags.StringVarP(&o.output, "output", "o", "text", "the `format` of the findings: text or json")
	flags.BoolVar(&o.warningsAsErrors, "warnings-as-errors", false, "exit with 1 when there are warnings")
	flags.BoolVar(&o.allowEmpty, "allow-empty", false, "exit with 0 when no manifest is of a ServiceBulkhead; a directory without manifests is a 2 all the same")
	return command
}

// run checks the input and returns the exit code; an error is a 2.
func (o options) run(c *cobra.Command) (int, error) {
	if err := o.check(); err != nil {
		return codeStuck, err
	}
	report := judge.Judge(o.read(c.InOrStdin()), o.namespace)
	if err := printers[o.output](c.OutOrStdout(), report); err != nil {
		return codeStuck, fmt.Errorf("print findings: %w", err)
	}
	fmt.Fprintln(c.ErrOrStderr(), summary(report))
	if report.Checked+report.Unreadable == 0 && !o.allowEmpty {
		return codeStuck, errors.New("no ServiceBulkhead in the input: is it the right one? --allow-empty if it is")
	}
	return o.code(report), nil
}

// check refuses what the flags' types admit and the command cannot use.
func (o options) check() error {
	stdins := 0
	for _, file := range o.files {
		switch {
		case file == "":
			return errors.New("-f: an empty name")
		case strings.HasPrefix(file, "http://"), strings.HasPrefix(file, "https://"):
			return fmt.Errorf("-f: %s: only files are read; fetch it, and pipe it into -f -", file)
		case file == manifest.Stdin:
			stdins++
		}
	}
	switch {
	case len(o.files) == 0:
		return errors.New("-f: say which files or directories to check, or - for stdin")
	case stdins > 1:
		return errors.New("-f: stdin can be read only once")
	case printers[o.output] == nil:
		return fmt.Errorf("-o: %q: must be text or json", o.output)
	}
	return nil
}

// read reads everything; what cannot be read is a fault in place of a content.
func (o options) read(stdin io.Reader) []manifest.Content {
	files, faults := manifest.Expand(o.files, o.recursive)
	contents := []manifest.Content{{Faults: faults}}
	for _, file := range files {
		text, err := manifest.ReadFile(file, stdin)
		name := file
		if file == manifest.Stdin {
			name = "<stdin>"
		}
		if err != nil {
			contents = append(contents, manifest.Content{Faults: []manifest.Fault{manifest.Unreadable(name, err)}})
			continue
		}
		contents = append(contents, manifest.Read(name, text))
	}
	return contents
}

// code is the exit code: not having seen everything is worse than having seen
// something wrong.
func (o options) code(report judge.Report) int {
	switch {
	case report.Unreadable > 0:
		return codeStuck
	case report.Errors > 0, report.Warnings > 0 && o.warningsAsErrors:
		return codeWrong
	}
	return codeFine
}
