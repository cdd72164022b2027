// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
)

// refusal is one mistake that somebody is told about.
type refusal struct {
	Field, Message string
	// decoding says that the mistake was found on reading, before there was an object
	// to judge.
	decoding bool
}

// answer is the API server's verdict.
type answer struct {
	refusals []refusal // none: accepted
	early    bool      // it looked no further than at some kind of mistake
	warnings []string
}

// strict matches the API server's account of what it found on reading.
var strict = regexp.MustCompile(`(?:unknown|duplicate) field "([^"]*)"`)

// answered reads the API server's answer. One that is neither yes nor no is an
// error.
func answered(result rest.Result) (answer, error) {
	var status apierrors.APIStatus
	err := result.Error()
	if err == nil {
		return answer{warnings: warningsIn(result)}, nil
	}
	if !errors.As(err, &status) {
		return answer{}, err
	}
	switch said := status.Status(); {
	case said.Reason == metav1.StatusReasonInvalid && said.Details != nil:
		return ofCauses(said.Details.Causes), nil
	case strings.Contains(said.Message, "strict decoding error: "):
		return answer{refusals: ofDecoding(said.Message), early: true}, nil
	}
	return answer{}, err
}

// warningsIn leaves out which policy warns.
func warningsIn(result rest.Result) (texts []string) {
	for _, warning := range result.Warnings() {
		_, text, _ := strings.Cut(warning.Text, "' with binding 'servicebulkhead-risks': ")
		texts = append(texts, cmp.Or(text, warning.Text))
	}
	return texts
}

// ofCauses leaves out what the API server adds, of no field, to some kinds of
// mistake: that it looked no further, or the mistake once more.
func ofCauses(causes []metav1.StatusCause) (out answer) {
	for _, cause := range causes {
		aside := func(text string) bool { return cause.Field == "<nil>" && strings.Contains(cause.Message, text) }
		switch {
		case aside("some validation rules were not checked"):
			out.early = true
		case !aside("Checked value must be of type"):
			out.refusals = append(out.refusals, refusal{Field: cause.Field, Message: cause.Message})
		}
	}
	return out
}

func ofDecoding(message string) (out []refusal) {
	for _, match := range strict.FindAllStringSubmatch(message, -1) {
		out = append(out, refusal{Field: match[1], Message: match[0], decoding: true})
	}
	return out
}

// judged is what Parse and Validate say, who know no API server.
func judged(text string) []refusal {
	b, errs := v1alpha1.Parse([]byte(text))
	if len(errs) == 0 {
		errs = v1alpha1.Validate(b)
	}
	return ofErrors(errs)
}

func ofErrors(errs field.ErrorList) (out []refusal) {
	for _, err := range errs {
		out = append(out, refusal{Field: err.Field, Message: err.ErrorBody()})
	}
	return out
}

// fieldsOf names the fields of refusals, each once.
func fieldsOf(refusals []refusal) []string {
	var names []string
	for _, r := range refusals {
		names = append(names, r.Field)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sameWords says whether the API server says, word for word, all that we do. What
// it finds on reading it tells in no error of the field, and so in other words.
func sameWords(api, ours []refusal) bool {
	for _, our := range ours {
		says := func(their refusal) bool {
			return their.decoding || their.Field == our.Field && their.Message == our.Message
		}
		if !slices.ContainsFunc(api, says) {
			return false
		}
	}
	return true
}

// tell writes refusals for people.
func tell(refusals []refusal) string {
	if len(refusals) == 0 {
		return "accepted"
	}
	var lines []string
	for _, r := range refusals {
		lines = append(lines, fmt.Sprintf("%s: %s", r.Field, r.Message))
	}
	return strings.Join(lines, "\n          ")
}
