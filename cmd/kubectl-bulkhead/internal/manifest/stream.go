// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// chunk is one document of a file, as text.
type chunk struct {
	text []byte
	line int // of the file, on which the text begins
	json bool
	// notJSON is what is wrong with it as JSON, where it looks like JSON.
	notJSON *Fault
}

// fault makes one of an error on a line of the chunk, counted from 1.
func (c chunk) fault(line int, message string) Fault {
	return Fault{Line: c.line + max(line, 1) - 1, Message: message}
}

// jsonWindow is how far kubectl looks for the brace that says JSON.
const jsonWindow = 4096

// split cuts a file into its documents exactly as kubectl does, whose rules are
// those of yaml.YAMLOrJSONDecoder and not quite YAML's: what begins with a brace is
// tried as JSON first, and only a line that begins with --- separates documents. A
// test compares the two. After a mistake it goes on where kubectl stops.
func split(text []byte) (chunks []chunk, faults []Fault) {
	if !yaml.IsJSONBuffer(text[:min(len(text), jsonWindow)]) {
		return splitYAML(text, 1)
	}
	chunks, end, err := splitJSON(text)
	if err == nil {
		return chunks, nil
	}
	wrong := Fault{Line: lineAt(text, offsetOf(err, text)), Message: "cannot be read as JSON: " + err.Error()}
	if len(chunks) > 1 {
		return chunks, []Fault{wrong}
	}
	// It may be YAML in braces, or YAML that follows a JSON object.
	rest, ok := skipBlank(text[end:])
	if !ok {
		return chunks, []Fault{wrong}
	}
	more, faults := splitYAML(rest, lineAt(text, len(text)-len(rest)))
	if len(more) > 0 && quotedKey.Match(rest) {
		more[0].notJSON = &wrong
	}
	return append(chunks, more...), faults
}

// quotedKey is how JSON begins, and YAML in braces mostly does not.
var quotedKey = regexp.MustCompile(`^\s*\{\s*"`)

// splitJSON reads objects, one after the other, until the end or an error; end is
// where the last object ends.
func splitJSON(text []byte) (chunks []chunk, end int, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for line := 1; ; {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return chunks, end, nil
		} else if err != nil {
			return chunks, end, err
		}
		before := end
		end = int(decoder.InputOffset())
		line += lines(text[before : end-len(raw)])
		chunks = append(chunks, chunk{text: raw, line: line, json: true})
		line += lines(raw)
	}
}

// splitYAML cuts at the separators. Lines end as kubectl makes them end, in \n, and
// a separator before the first line of a document is part of it.
func splitYAML(text []byte, line int) (chunks []chunk, faults []Fault) {
	current := chunk{line: line}
	flush := func() {
		if len(current.text) > 0 {
			chunks = append(chunks, current)
		}
		current = chunk{line: line + 1}
	}
	for ; len(text) > 0; line++ {
		var row []byte
		var ended bool
		if row, text, ended = bytes.Cut(text, []byte("\n")); ended {
			row = bytes.TrimSuffix(row, []byte("\r"))
		}
		after, separator := bytes.CutPrefix(row, []byte("---"))
		after = bytes.TrimSpace(after)
		switch {
		case separator && len(after) > 0 && after[0] != '#':
			flush()
			faults = append(faults, Fault{Line: line, Message: fmt.Sprintf(
				"%q after the separator ---: kubectl reads nothing but a comment there; begin the document on the next line", after)})
		case separator && len(current.text) > 0:
			flush()
		default:
			current.text = append(append(current.text, row...), '\n')
		}
	}
	flush()
	return chunks, faults
}

// skipBlank skips the white space that kubectl skips when it changes from JSON to
// YAML: to the end of the line at most. It looks at four bytes at a time, and
// gives up where there are fewer.
func skipBlank(text []byte) (rest []byte, ok bool) {
	for len(text) >= utf8.UTFMax {
		r, size := utf8.DecodeRune(text[:utf8.UTFMax])
		if !unicode.IsSpace(r) {
			return text, r != utf8.RuneError
		}
		text = text[size:]
		if r == '\n' {
			return text, true
		}
	}
	return nil, false
}

func lineAt(text []byte, offset int) int {
	return 1 + lines(text[:min(offset, len(text))])
}

// lines counts the line ends.
func lines(text []byte) int { return bytes.Count(text, []byte("\n")) }

// offsetOf is where JSON is wrong: at its end, if that comes too early.
func offsetOf(err error, text []byte) int {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return int(syntax.Offset)
	}
	return len(bytes.TrimSpace(text))
}
