// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// kept is a bulkhead that will become invalid; pods keep the entry that was accepted.
func (t *trial) kept(namespace int) *v1alpha1.ServiceBulkhead {
	r := role{namespace: namespaceOf(namespace), configMap: keptMap, name: keptService, service: keptService}
	t.stirrer.note(r.namespace, r.service, keptLimit)
	return r.bulkhead(keptLimit)
}

// outdate changes the kept ones into what the rules refuse, as if they had been stored
// before there were rules.
func (t *trial) outdate(ctx context.Context) error {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName("servicebulkheads." + v1alpha1.GroupVersion.Group)
	if err := t.bed.Admin.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
		return err
	}
	rules := crd.DeepCopy()
	dropRules(crd.Object)
	if err := t.bed.Admin.Update(ctx, crd); err != nil {
		return fmt.Errorf("drop the rules: %w", err)
	}
	var errs []error
	for n := range namespaceCount {
		errs = append(errs, t.breakKept(ctx, n))
	}
	rules.SetResourceVersion(crd.GetResourceVersion())
	if err := t.bed.Admin.Patch(ctx, rules, client.Merge, client.FieldOwner(editor)); err != nil {
		errs = append(errs, fmt.Errorf("bring the rules back: %w", err))
	}
	return errors.Join(errs...)
}

// breakKept tries until the API server has noticed that the rules are gone.
func (t *trial) breakKept(ctx context.Context, namespace int) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"maxWait":"2h","limit":9}}`))
	for {
		err := t.bed.Admin.Patch(ctx, t.kept(namespace), patch)
		if err == nil {
			return nil
		}
		if pauseErr := pause(ctx, convergePoll); pauseErr != nil {
			return errors.Join(err, pauseErr)
		}
	}
}

// dropRules removes every CEL rule of a schema.
func dropRules(node any) {
	switch n := node.(type) {
	case map[string]any:
		delete(n, "x-kubernetes-validations")
		for _, child := range n {
			dropRules(child)
		}
	case []any:
		for _, child := range n {
			dropRules(child)
		}
	}
}
