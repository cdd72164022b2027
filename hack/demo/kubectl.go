// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// kubectl runs kubectl as the cluster's administrator, and shows the command and
// what it printed. An exit code other than 0 is an error.
func (s *stage) kubectl(ctx context.Context, args ...string) error {
	s.out.command("kubectl " + shellWords(args))
	text, err := s.runKubectl(ctx, s.plane.KubeconfigFile, args...)
	if err == nil {
		s.out.output(text)
	}
	return err
}

// refused runs a kubectl command that must fail, and returns what it printed.
func (s *stage) refused(ctx context.Context, args ...string) (string, error) {
	s.out.command("kubectl " + shellWords(args))
	text, err := s.runKubectl(ctx, s.plane.KubeconfigFile, args...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		s.out.output(text)
		return "", nil
	case errors.As(err, &exit) && ctx.Err() == nil:
		s.out.output(strings.Join(wrap(text, width-4), "\n"))
		return text, nil
	}
	return "", err
}

// canI asks what the operator may do, with the operator's own credentials.
func (s *stage) canI(ctx context.Context, args ...string) (string, error) {
	args = append([]string{"auth", "can-i"}, args...)
	s.out.command("KUBECONFIG=operator.kubeconfig kubectl " + shellWords(args))
	text, err := s.runKubectl(ctx, s.operatorKubeconfig, args...)
	answer := lastLine(text)
	if answer != "yes" && answer != "no" { // "no" is an exit code of 1
		return "", fmt.Errorf("kubectl auth can-i answered neither yes nor no: %w", errors.Join(err, errors.New(text)))
	}
	s.out.output(answer)
	return answer, nil
}

// runKubectl runs kubectl without a word, and returns all that it printed.
func (s *stage) runKubectl(ctx context.Context, kubeconfig string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.plane.Kubectl(), args...)
	cmd.Dir = s.root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBECACHEDIR="+filepath.Join(s.dir, "kubectl"))
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
