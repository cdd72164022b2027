// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/servicebulkhead/servicebulkhead/hack/demo/story"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

func crashOperator(ctx context.Context, s *stage) error {
	before, err := s.documentHash(ctx)
	if err != nil {
		return err
	}
	s.Command(fmt.Sprintf("kill -KILL %d   # the operator", s.operator.PID()))
	s.operator.Kill()
	if err := s.changeWithoutOperator(ctx, before); err != nil {
		return err
	}
	begin := time.Now()
	if err := s.runOperator(); err != nil {
		return err
	}
	err = story.Await(ctx, 20*time.Second, "the change that was made without the operator", func(ctx context.Context) (bool, error) {
		b, err := s.shopURL.bulkhead(ctx)
		return b.limit == 30, err
	})
	if err != nil {
		return err
	}
	s.Expect(true, "limit 30 in force after the restart", "within 20s", time.Since(begin).Round(time.Millisecond))
	err = s.patchBulkhead(ctx, `{"limit":25}`, func(b bulkhead) bool { return b.limit == 25 })
	if err != nil {
		return err
	}
	now, err := s.documentHash(ctx)
	s.ExpectEqual("the document, once the change is undone", now, before)
	return err
}

// changeWithoutOperator changes the limit and shows that nothing else changes.
func (s *stage) changeWithoutOperator(ctx context.Context, before string) error {
	if err := s.kubectl.Show(ctx, story.PatchArgs(`{"limit":30}`)...); err != nil {
		return err
	}
	without, err := s.watch(ctx, 1500*time.Millisecond)
	if err != nil {
		return err
	}
	now, err := s.documentHash(ctx)
	if err != nil {
		return err
	}
	s.ExpectEqual("without the operator: the document", now, before)
	s.ExpectEqual("without the operator: the limit in force", without.last.limit, 25)
	s.ExpectAtLeast("without the operator: sales", without.answers.OK, 1)
	s.ExpectEqual("without the operator: calls that failed", without.answers.Failed, 0)
	return nil
}

// documentHash tells whether the document's bytes are the same.
func (s *stage) documentHash(ctx context.Context) (string, error) {
	text, err := s.kubectl.Run(ctx, "-n", story.Namespace, "get", "configmap", story.ConfigMap,
		"-o", `go-template={{index .data "`+bulkheadconfig.Key+`"}}`)
	return fmt.Sprintf("sha256 %x…", sha256.Sum256([]byte(text)))[:len("sha256 ")+12], err
}
