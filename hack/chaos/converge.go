// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

// snapshot is everything that the operator reads and writes.
type snapshot struct {
	bulkheads map[types.NamespacedName][]v1alpha1.ServiceBulkhead // by ConfigMap
	texts     map[types.NamespacedName]string                     // of documents
	versions  map[string]string                                   // of all objects
}

func take(ctx context.Context, admin client.Client) (snapshot, error) {
	s := snapshot{
		bulkheads: map[types.NamespacedName][]v1alpha1.ServiceBulkhead{}, texts: map[types.NamespacedName]string{},
		versions: map[string]string{},
	}
	var bulkheads v1alpha1.ServiceBulkheadList
	var configMaps corev1.ConfigMapList
	if err := errors.Join(admin.List(ctx, &bulkheads), admin.List(ctx, &configMaps)); err != nil {
		return s, err
	}
	for _, b := range bulkheads.Items {
		key := types.NamespacedName{Namespace: b.Namespace, Name: b.ConfigMapName()}
		s.bulkheads[key] = append(s.bulkheads[key], b)
		s.versions["ServiceBulkhead "+b.Namespace+"/"+b.Name] = b.ResourceVersion
	}
	for _, m := range configMaps.Items {
		if strings.HasSuffix(m.Name, "-bulkheads") {
			s.texts[client.ObjectKeyFromObject(&m)] = m.Data[bulkheadconfig.Key]
			s.versions["ConfigMap "+m.Namespace+"/"+m.Name] = m.ResourceVersion
		}
	}
	return s, nil
}

// settled is nil when nothing is left to do: every document is, to the byte, what a
// new operator would write that finds the same objects, and every status says so.
func (s snapshot) settled() error {
	for key, text := range s.texts {
		if err := settledMap(key, text, s.bulkheads[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	for key := range s.bulkheads {
		if _, ok := s.texts[key]; !ok {
			return fmt.Errorf("%s: there is no such ConfigMap", key)
		}
	}
	return nil
}

func settledMap(key types.NamespacedName, text string, bulkheads []v1alpha1.ServiceBulkhead) error {
	doc, err := bulkheadconfig.Decode([]byte(text))
	if err != nil {
		return err
	}
	verdicts := v1alpha1.Judge(bulkheads, doc.Services, bulkheadconfig.MaxBytes)
	if err := sameText(text, verdicts); err != nil {
		return err
	}
	if err := told(verdicts); err != nil {
		return err
	}
	if key.Name == keptMap || key.Name == mapOf(contested) {
		return nil // what is right there depends on what was before
	}
	return sameText(text, v1alpha1.Judge(newborn(bulkheads), nil, bulkheadconfig.MaxBytes))
}

// newborn are the same bulkheads as nobody has looked at them yet.
func newborn(bulkheads []v1alpha1.ServiceBulkhead) []v1alpha1.ServiceBulkhead {
	fresh := make([]v1alpha1.ServiceBulkhead, len(bulkheads))
	for i := range bulkheads {
		bulkheads[i].DeepCopyInto(&fresh[i])
		fresh[i].Status = v1alpha1.ServiceBulkheadStatus{}
	}
	return fresh
}

func sameText(text string, verdicts []v1alpha1.Verdict) error {
	want, err := bulkheadconfig.Encode(v1alpha1.Collect(verdicts))
	if err != nil {
		return err
	}
	if text != string(want) {
		return fmt.Errorf("holds\n%s\nshould hold\n%s", text, want)
	}
	return nil
}

// told is nil when every status is about the object as it is now, and right.
func told(verdicts []v1alpha1.Verdict) error {
	for _, v := range verdicts {
		status := v.Bulkhead.Status
		ready := meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady)
		switch ref := status.ConfigMapRef; {
		case status.ObservedGeneration != v.Bulkhead.Generation:
			return fmt.Errorf("status of %s: about generation %d, not %d", v.Bulkhead.Name, status.ObservedGeneration, v.Bulkhead.Generation)
		case ready != v.Accepted():
			return fmt.Errorf("status of %s: Ready is %t, not %t", v.Bulkhead.Name, ready, v.Accepted())
		case (ref != nil) != (v.Entry != nil) || ref != nil && ref.Revision != v.Entry.Revision():
			return fmt.Errorf("status of %s: published as %+v, not %+v", v.Bulkhead.Name, ref, v.Entry)
		}
	}
	return nil
}

const (
	convergeTimeout = 60 * time.Second
	convergePoll    = 30 * time.Millisecond
)

// converge waits until everything has settled, and returns how long that took.
// Operators that end meanwhile are started again, as a Deployment does.
func (t *trial) converge(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, convergeTimeout, fmt.Errorf("not settled within %s", convergeTimeout))
	defer cancel()
	ticker := time.NewTicker(convergePoll)
	defer ticker.Stop()
	for {
		if err := t.fleet.tend(); err != nil {
			return 0, err
		}
		s, err := take(ctx, t.bed.Admin)
		if err == nil {
			err = s.settled()
		}
		if err == nil {
			return time.Since(began), nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}
