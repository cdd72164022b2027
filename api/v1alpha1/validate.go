// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
)

const (
	maxLimit          = 65_536
	maxLabelLength    = 63
	maxDurationLength = 28
)

var (
	isDNSLabel      = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`).MatchString
	isConfigMapName = regexp.MustCompile(`^[a-z0-9][-a-z0-9]*-bulkheads$`).MatchString
)

// The messages of the CEL rules. Each stands in a marker too, which cannot refer
// to a constant; a test compares the two through the API server.
const (
	badDuration = "must be a duration such as 50ms, 30s or 1m30s: one to four whole numbers, each with its unit h, m, s or ms; " +
		"no sign, no fraction, no days, and 0 needs a unit too (0s)"
	badService       = "must be a DNS label: lower-case letters, digits and '-', with a letter or digit at both ends"
	needsService     = "metadata.name cannot stand in for it: it is not a DNS label of at most 63 characters"
	badConfigMapName = "must be a DNS label that ends in -bulkheads, such as service-bulkheads: " +
		"no bulkhead can then point the operator at another kind of ConfigMap"
	badMaxWait      = "must be at most 60s: an unbounded wait is the pile-up that a bulkhead exists to prevent"
	badReclaimAfter = "must be from 1ms to 24h: a slot that is never reclaimed is lost for good when its call hangs"
	shortReclaim    = "must be longer than spec.maxWait: otherwise waiting calls are admitted on top of calls that still run"
	badDrainTimeout = "must be at most 10m: the pod is killed when its termination grace period ends, whatever still runs"
)

// Validate returns what the API server's schema and CEL rules would answer to the
// creation of b: the same fields, rules and messages, one error for each mistake.
// It is for objects that were stored before a rule existed, and for whoever has
// no API server. What only a change can break (spec.service and
// spec.configMapName are immutable) is left to the API server.
func Validate(b *ServiceBulkhead) field.ErrorList { return validate(b, nil) }

// validate judges b. What was written counts as present although b does not show
// it, and is what the errors quote.
func validate(b *ServiceBulkhead, w written) field.ErrorList {
	path, spec := field.NewPath("spec"), &b.Spec
	errs := slices.Concat(
		validateService(path.Child("service"), b, w),
		validateConfigMapName(path.Child("configMapName"), spec.ConfigMapName, w),
		validateLimit(path.Child("limit"), spec.Limit),
		validateTimes(path, spec, w),
		validateWord(path.Child("onReclaim"), w, spec.OnReclaim, OnReclaimCancel, OnReclaimRelease),
		validateWord(path.Child("enforcement"), w, spec.Enforcement, EnforcementEnforce, EnforcementShadow),
		validateQueue(path.Child("queue"), spec.Queue, w),
	)
	for _, err := range errs {
		if value, ok := w[err.Field]; ok {
			err.BadValue = value
		}
	}
	return errs
}

func validateService(path *field.Path, b *ServiceBulkhead, w written) field.ErrorList {
	if b.Spec.Service != "" || w.has(path) {
		return validateText(path, b.Spec.Service, maxLabelLength, isDNSLabel, badService)
	}
	if name := nameOf(b.ObjectMeta); len(name) > maxLabelLength || !isDNSLabel(name) {
		return field.ErrorList{field.Required(path, needsService)}
	}
	return nil
}

// nameOf returns a bulkhead's name, or one such as the API server generates.
func nameOf(meta metav1.ObjectMeta) string {
	const generated, length = "bcdfg", 63
	if meta.Name != "" || meta.GenerateName == "" {
		return meta.Name
	}
	return meta.GenerateName[:min(len(meta.GenerateName), length-len(generated))] + generated
}

func validateConfigMapName(path *field.Path, name string, w written) field.ErrorList {
	if name == "" && !w.has(path) {
		return nil // the schema's default
	}
	return validateText(path, name, maxLabelLength, isConfigMapName, badConfigMapName)
}

func validateLimit(path *field.Path, limit *int32) field.ErrorList {
	if limit == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	return validateRange(path, *limit, 0)
}

func validateQueue(path *field.Path, queue *Queue, w written) field.ErrorList {
	if queue == nil {
		return nil
	}
	capacity, maxConcurrency := path.Child("capacity"), path.Child("maxConcurrency")
	var errs field.ErrorList
	if queue.Capacity == 0 && !w.has(capacity) {
		errs = append(errs, field.Required(capacity, ""))
	} else {
		errs = append(errs, validateRange(capacity, queue.Capacity, 1)...)
	}
	if queue.MaxConcurrency != 0 || w.has(maxConcurrency) {
		errs = append(errs, validateRange(maxConcurrency, queue.MaxConcurrency, 1)...)
	}
	return errs
}

// validateTimes checks the durations. Whether reclaimAfter is longer than maxWait
// is asked only when each is right by itself, so that one mistake is told once.
func validateTimes(path *field.Path, spec *ServiceBulkheadSpec, w written) field.ErrorList {
	errs := slices.Concat(
		validateDuration(path.Child("maxWait"), spec.MaxWait, w, 0, time.Minute, badMaxWait),
		validateReclaimAfter(path.Child("reclaimAfter"), spec.ReclaimAfter, w),
	)
	if len(errs) == 0 && spec.MaxWait != "" && spec.ReclaimAfter.valid() <= spec.MaxWait.valid() {
		errs = append(errs, field.Invalid(path.Child("reclaimAfter"), field.OmitValueType{}, shortReclaim))
	}
	return append(errs, validateDuration(path.Child("drainTimeout"), spec.DrainTimeout, w, 0, 10*time.Minute, badDrainTimeout)...)
}

func validateReclaimAfter(path *field.Path, d Duration, w written) field.ErrorList {
	if d == "" && !w.has(path) {
		return field.ErrorList{field.Required(path, "")}
	}
	return validateDuration(path, d, w, time.Millisecond, 24*time.Hour, badReclaimAfter)
}

func validateDuration(path *field.Path, d Duration, w written, least, most time.Duration, outOfBounds string) field.ErrorList {
	if d == "" && !w.has(path) {
		return nil
	}
	if errs := validateText(path, string(d), maxDurationLength, isDuration, badDuration); len(errs) > 0 {
		return errs
	}
	if length := d.valid(); length < least || length > most {
		return field.ErrorList{field.Invalid(path, string(d), outOfBounds)}
	}
	return nil
}

func isDuration(text string) bool {
	_, err := bulkheadconfig.ParseDuration(text)
	return err == nil
}

// validateText checks a length, in the schema's words, and a form, in ours.
func validateText(path *field.Path, text string, most int, form func(string) bool, message string) field.ErrorList {
	if utf8.RuneCountInString(text) > most {
		return field.ErrorList{field.TooLong(path, text, most)}
	}
	if !form(text) {
		return field.ErrorList{field.Invalid(path, text, message)}
	}
	return nil
}

// validateRange checks a number's bounds, in the schema's words.
func validateRange(path *field.Path, n, least int32) field.ErrorList {
	switch {
	case n < least:
		return field.ErrorList{field.Invalid(path, n, fmt.Sprintf("%s in body should be greater than or equal to %d", path, least))}
	case n > maxLimit:
		return field.ErrorList{field.Invalid(path, n, fmt.Sprintf("%s in body should be less than or equal to %d", path, maxLimit))}
	}
	return nil
}

func validateWord[T ~string](path *field.Path, w written, word T, known ...T) field.ErrorList {
	if word == "" && !w.has(path) || slices.Contains(known, word) {
		return nil // absent: the schema's default
	}
	return field.ErrorList{field.NotSupported(path, word, known)}
}
