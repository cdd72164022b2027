// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree makes files in a new working directory.
func tree(t *testing.T, files ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, file := range files {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("a: 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestExpand(t *testing.T) {
	tree(t, "a/1.yaml", "a/2.yml", "a/3.json", "a/4.txt", "a/b/5.yaml", "a/b/c.yaml/6.yaml", "none/7.txt")
	if err := os.Symlink("a", "link"); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		paths     []string
		recursive bool
		files     []string
		fault     string
	}{
		"a directory":              {[]string{"a"}, false, []string{"a/1.yaml", "a/2.yml", "a/3.json"}, ""},
		"and all below":            {[]string{"./a/"}, true, []string{"a/1.yaml", "a/2.yml", "a/3.json", "a/b/5.yaml", "a/b/c.yaml/6.yaml"}, ""},
		"a file of any name":       {[]string{"a/4.txt"}, false, []string{"a/4.txt"}, ""},
		"a link to a directory":    {[]string{"link"}, false, []string{"link/1.yaml", "link/2.yml", "link/3.json"}, ""},
		"stdin":                    {[]string{"-", "a/1.yaml"}, false, []string{"-", "a/1.yaml"}, ""},
		"a file, named twice":      {[]string{"a/1.yaml", "a", "./a/1.yaml"}, false, []string{"a/1.yaml", "a/2.yml", "a/3.json"}, ""},
		"a file, by its full name": {[]string{"a/1.yaml", "$PWD/a/1.yaml"}, false, []string{"a/1.yaml"}, ""},
		"a file, by a link":        {[]string{"a/1.yaml", "link/1.yaml"}, false, []string{"a/1.yaml"}, ""},
		"two files in one name":    {[]string{"a/1.yaml,a/2.yml"}, false, nil, "a/1.yaml,a/2.yml: no such file or directory; each file needs a -f of its own"},
		"no such file":             {[]string{"a/1.yaml", "z.yaml"}, false, []string{"a/1.yaml"}, "z.yaml: no such file or directory"},
		"a directory of others":    {[]string{"none"}, true, nil, "none: the directory holds no .yaml, .yml or .json file"},
		"a directory of others, -": {[]string{"none"}, false, nil, "; -R looks into its sub-directories too"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for i := range test.paths {
				test.paths[i] = os.ExpandEnv(test.paths[i])
			}
			files, faults := Expand(test.paths, test.recursive)
			if !slices.Equal(files, test.files) {
				t.Errorf("got %q, want %q", files, test.files)
			}
			var told string
			for _, f := range faults {
				told += f.File + ": " + f.Message
			}
			if !strings.Contains(told, test.fault) || (told == "") != (test.fault == "") {
				t.Errorf("got fault %q, want %q", told, test.fault)
			}
		})
	}
}
