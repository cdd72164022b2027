// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// hint says what to write in the place of a value of the wrong type; text is how
// the value stands in the file. Empty where there is nothing to add.
func hint(err *field.Error, text string) string {
	must := func(be string) bool {
		return err.Type == field.ErrorTypeTypeInvalid && strings.Contains(err.Detail, "must be of type "+be+":")
	}
	_, notWhole := strconv.Atoi(text)
	whole := text != "" && notWhole == nil
	switch {
	case strings.Contains(text, "{{"):
		return "this looks like a template: check what it renders"
	case err.Field == "spec.queue" && must("object"):
		return "write an object, such as {capacity: 64}"
	case must("integer") && whole && err.BadValue == "string":
		return "write " + text + " without quotes"
	case must("integer"):
		return "write a whole number, such as 25"
	case must("string") && isDuration(err.Field) && text == "0":
		return "write 0s"
	case must("string") && isDuration(err.Field) && whole:
		return "write it with its unit: " + text + "s, or " + text + "ms"
	case must("string") && text != "" && !strings.Contains(err.Detail, "quotes"):
		return "put it in quotes, if it is meant"
	}
	return ""
}

func isDuration(path string) bool {
	return path == "spec.maxWait" || path == "spec.reclaimAfter" || path == "spec.drainTimeout"
}
