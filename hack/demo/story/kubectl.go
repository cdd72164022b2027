// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package story

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Kubectl runs kubectl, with the credentials of one kubeconfig.
type Kubectl struct {
	Teller *Teller
	// Path is that of the program, or its name; Kubeconfig is the environment's where
	// it is empty.
	Path, Kubeconfig string
	// Dir is the working directory, Cache a directory for what kubectl wants to keep.
	Dir, Cache string
	// Prefix stands before each command that is shown.
	Prefix string
}

// Show runs kubectl, and shows the command and what it printed. An exit code other
// than 0 is an error.
func (k Kubectl) Show(ctx context.Context, args ...string) error {
	k.echo(args)
	text, err := k.Run(ctx, args...)
	if err == nil {
		k.Teller.Output(text)
	}
	return err
}

func (k Kubectl) echo(args []string) { k.Teller.Command(k.Prefix + "kubectl " + shellWords(args)) }

// ShowRefused is Show for a command that must fail; it returns what that printed,
// and nothing if it did not fail.
func (k Kubectl) ShowRefused(ctx context.Context, args ...string) (string, error) {
	k.echo(args)
	text, err := k.Run(ctx, args...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		k.Teller.Output(text)
		return "", nil
	case errors.As(err, &exit) && ctx.Err() == nil:
		k.Teller.Output(strings.Join(Wrap(text, width-4), "\n"))
		return text, nil
	}
	return "", err
}

// ShowCanI asks what one may do, and returns "yes" or "no".
func (k Kubectl) ShowCanI(ctx context.Context, args ...string) (string, error) {
	args = append([]string{"auth", "can-i"}, args...)
	k.echo(args)
	text, err := k.Run(ctx, args...)
	answer := lastLine(text)
	if answer != "yes" && answer != "no" { // "no" is an exit code of 1
		return "", fmt.Errorf("kubectl auth can-i answered neither yes nor no: %w", errors.Join(err, errors.New(text)))
	}
	k.Teller.Output(answer)
	return answer, nil
}

// Run runs kubectl without a word, and returns all that it printed.
func (k Kubectl) Run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, k.Path, args...)
	cmd.Dir = k.Dir
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+k.Cache)
	if k.Kubeconfig != "" {
		cmd.Env = append(cmd.Env, "KUBECONFIG="+k.Kubeconfig)
	}
	cmd.WaitDelay = time.Second
	text, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return string(text), fmt.Errorf("kubectl %s: %w: %s", shellWords(args), err, strings.TrimSpace(string(text)))
	}
	return string(text), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// shellWords writes arguments as one would type them.
func shellWords(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if strings.ContainsAny(arg, ` {}*"\$`) {
			words[i] = "'" + arg + "'"
		}
	}
	return strings.Join(words, " ")
}
