// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlError takes the parser's message apart: it names a line for most mistakes,
// except on the first.
var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// advice is what the parser's words mostly mean.
var advice = []struct{ words, help string }{
	{"mapping values are not allowed", "a second ': ' on the line, or a line that is indented too far; text with ': ' in it needs quotes"},
	{"cannot start any token", "text that begins with @, ` or % needs quotes"},
	{"did not find expected key", "most likely the indentation is not that of the lines above"},
	{"did not find expected '-' indicator", "most likely the indentation is not that of the lines above"},
	{"could not find expected ':'", "most likely a line without ': ', or one whose quotes do not end"},
	{"found unexpected end of stream", "quotes or brackets that do not end"},
	{"unsupported value", "infinity and not-a-number have no place in JSON"},
}

// unreadable explains why a document cannot be converted.
func (c chunk) unreadable(err error) Fault {
	line, words := 0, err.Error()
	if parts := yamlError.FindStringSubmatch(words); parts != nil {
		words, _, _ = strings.Cut(parts[2], ": map[") // a Go value, that says nothing to anybody
		line, _ = strconv.Atoi(parts[1])              // absent: the first
	}
	if strings.HasPrefix(words, "did not find expected") {
		line++ // its parser, unlike its scanner, counts from 0
	}
	line = min(line, lines(c.text))
	message := "cannot be read as YAML: " + words
	if brace := bytes.Index(c.text, []byte("{{")); brace >= 0 {
		template := lineAt(c.text, brace)
		return c.fault(cmp.Or(line, template), fmt.Sprintf("%s; {{ on line %d looks like a template: "+
			"check what it renders, as in helm template CHART | kubectl bulkhead validate -f -", message, c.line+template-1))
	}
	if c.notJSON != nil {
		return *c.notJSON
	}
	if help := c.help(line, words); help != "" {
		message += " (" + help + ")"
	}
	return c.fault(line, message)
}

func (c chunk) help(line int, words string) string {
	if indent := indentation(c.text, line); strings.Contains(indent, "\t") {
		return "a tab in the indentation: YAML takes spaces only"
	}
	for _, a := range advice {
		if strings.Contains(words, a.words) {
			return a.help
		}
	}
	return ""
}

// indentation is the white space that a line begins with.
func indentation(text []byte, line int) string {
	for n := 1; n < line; n++ {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	row, _, _ := bytes.Cut(text, []byte("\n"))
	return string(row[:len(row)-len(bytes.TrimLeft(row, " \t"))])
}

// afterTheEnd notes what follows the document in its chunk: after YAML's own mark
// of an end, which kubectl's cutting does not know.
func (c chunk) afterTheEnd() (Fault, bool) {
	end := bytes.Index(c.text, []byte("\n..."))
	if c.json || end < 0 {
		return Fault{}, false
	}
	var node yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(c.text))
	if decoder.Decode(&node) != nil || errors.Is(decoder.Decode(&node), io.EOF) {
		return Fault{}, false
	}
	return c.fault(lineAt(c.text, end)+1,
		"kubectl reads nothing between the end of a document (...) and the next separator; write --- instead"), true
}
