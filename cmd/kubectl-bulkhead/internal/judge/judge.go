// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/servicebulkhead/servicebulkhead/api/v1alpha1"
	"github.com/servicebulkhead/servicebulkhead/cmd/kubectl-bulkhead/internal/manifest"
)

// Judge applies the rules to the contents of files. namespace is that of objects
// which name none; it may be empty, and then they are a namespace of their own.
func Judge(contents []manifest.Content, namespace string) Report {
	var subjects []*subject
	files := make([][]*subject, len(contents))
	for i, content := range contents {
		for _, object := range content.Objects {
			files[i] = append(files[i], newSubject(object, namespace))
		}
		subjects = append(subjects, files[i]...)
	}
	judgeTogether(subjects)

	report := Report{Findings: []Finding{}}
	for i, content := range contents {
		findings := append(ofText(Unreadable, content.Faults), ofText(Warning, content.Notes)...)
		for _, s := range files[i] {
			findings = append(findings, s.findings...)
		}
		report.add(findings)
		report.Checked += len(files[i])
		report.Skipped += content.Skipped
	}
	return report
}

// subject is an object with what is found about it.
type subject struct {
	manifest.Object

	bulkhead *v1alpha1.ServiceBulkhead // nil where it could not be read
	findings []Finding
}

// newSubject judges an object by itself.
func newSubject(object manifest.Object, namespace string) *subject {
	object.Namespace = cmp.Or(object.Namespace, namespace)
	s := &subject{Object: object}
	bulkhead, errs := v1alpha1.Parse(object.JSON)
	if len(errs) == 0 {
		errs = append(needName(bulkhead), v1alpha1.Validate(bulkhead)...)
	}
	if bulkhead != nil {
		bulkhead.Namespace = object.Namespace
		s.bulkhead = bulkhead
	}
	for _, err := range errs {
		s.refuse(err)
	}
	if len(errs) == 0 {
		s.warn(v1alpha1.Warnings(bulkhead))
	}
	s.warnOfOctals()
	return s
}

// needName refuses what kubectl apply refuses though the API server would not: a
// name that is made up anew each time.
func needName(b *v1alpha1.ServiceBulkhead) field.ErrorList {
	if b.Name != "" {
		return nil
	}
	return field.ErrorList{field.Required(field.NewPath("metadata", "name"), "generateName cannot be applied")}
}

// refuse adds an error, in the API server's words, with a hint where these are about
// types and not about what to write.
func (s *subject) refuse(err *field.Error) {
	message := err.ErrorBody()
	text, _ := s.Scalar(err.Field)
	if help := hint(err, text); help != "" {
		message += " (" + help + ")"
	}
	s.find(Error, err.Field, message)
}

// warn adds warnings, which begin with the field.
func (s *subject) warn(texts []string) {
	for _, text := range texts {
		path, message, _ := strings.Cut(text, ": ")
		s.find(Warning, path, message)
	}
}

// warnOfOctals adds a warning for each number that YAML reads as an octal one.
func (s *subject) warnOfOctals() {
	for _, path := range []string{"spec.limit", "spec.queue.capacity", "spec.queue.maxConcurrency"} {
		text, plain := s.Scalar(path)
		value, err := strconv.ParseInt(text, 0, 64)
		decimal := strings.TrimLeft(text, "0")
		if plain && err == nil && value > 7 && octal(text) {
			s.find(Warning, path, fmt.Sprintf("%s is read as %d: a leading 0 makes it octal; write %d, or %s if that is meant",
				text, value, value, decimal))
		}
	}
}

// octal tells whether a number is written with a leading 0 and digits.
func octal(text string) bool {
	return len(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9'
}

func (s *subject) find(severity Severity, path, message string) {
	s.findings = append(s.findings, Finding{
		Severity: severity, File: s.File, Line: s.Line(path),
		Namespace: s.Namespace, Name: s.Name, Field: path, Message: message,
	})
}

// place is where the object stands, for others to point at.
func (s *subject) place() string {
	return fmt.Sprintf("%s:%d", s.File, s.Line(""))
}
