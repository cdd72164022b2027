// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
	"github.com/servicebulkhead/servicebulkhead/hack/localplane"
)

func startPlane(ctx context.Context, s *stage) (err error) {
	begin := time.Now()
	s.Say("starting …")
	if s.plane, err = localplane.Start(ctx, localplane.Options{Assets: s.assets}); err != nil {
		return err
	}
	s.kubectl = story.Kubectl{
		Teller: s.Teller, Path: s.plane.Kubectl(), Kubeconfig: s.plane.KubeconfigFile,
		Dir: s.root, Cache: filepath.Join(s.dir, "kubectl"),
	}
	s.Say("ready after %s, at %s", time.Since(begin).Round(100*time.Millisecond), s.plane.Config.Host)
	return s.kubectl.Show(ctx, "version")
}

const (
	operatorNamespace = "servicebulkhead-system"
	operatorAccount   = "servicebulkhead-operator"
)

func startOperator(ctx context.Context, s *stage) (err error) {
	for _, args := range [][]string{
		{"apply", "-k", "config/crd"},
		{"apply", "-k", "config/rbac"},
		{"wait", "--for=condition=Established", "crd/servicebulkheads.servicebulkhead.io"},
	} {
		if err := s.kubectl.Show(ctx, args...); err != nil {
			return err
		}
	}
	if s.operatorKubeconfig, err = s.plane.ServiceAccountKubeconfig(ctx, operatorNamespace, operatorAccount); err != nil {
		return err
	}
	if err := s.checkRights(ctx); err != nil {
		return err
	}
	return s.runOperator()
}

// checkRights shows that the operator is no administrator.
func (s *stage) checkRights(ctx context.Context) error {
	operator := s.kubectl
	operator.Kubeconfig, operator.Prefix = s.operatorKubeconfig, "KUBECONFIG=operator.kubeconfig "
	for _, question := range []struct {
		what, answer string
		args         []string
	}{
		{"the operator may write ConfigMaps", "yes", []string{"patch", "configmaps", "-A"}},
		{"the operator may read Secrets", "no", []string{"get", "secrets", "-A"}},
		{"the operator may do everything", "no", []string{"*", "*", "-A"}},
	} {
		answer, err := operator.ShowCanI(ctx, question.args...)
		if err != nil {
			return err
		}
		s.ExpectEqual(question.what, answer, question.answer)
	}
	return nil
}

// runOperator starts the operator. One replica needs no leader election; a killed
// one would be waited for until its lease runs out.
func (s *stage) runOperator() (err error) {
	s.Command("operator --kubeconfig=operator.kubeconfig --leader-elect=false …")
	s.operator, err = s.start("operator", s.binary("operator"), "--kubeconfig="+s.operatorKubeconfig, "--leader-elect=false",
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--log-format=text")
	return err
}
