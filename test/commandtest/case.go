package commandtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// Update is set if the files that tests compare with are rewritten.
var Update = flag.Bool("update", false, "rewrite what the cases in testdata expect") //nolint:gochecknoglobals // flags of tests are global

// The files of a case that are not input.
const (
	argsFile   = "args"   // one argument a line
	stdinFile  = "stdin"  // may be missing
	exitFile   = "exit"   // the exit code
	stdoutFile = "stdout" // what is printed
	stderrFile = "stderr"
)

// Cases runs the cases of a folder, each in a directory with its files, and compares what they leave behind
// with what they say.
func Cases(t *testing.T, folder string, try func(t *testing.T, stdin string, args []string) Outcome) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			path, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			said := unpack(t, archive)
			got := try(t, said[stdinFile], strings.Fields(said[argsFile]))
			if *Update {
				rewriteCase(t, path, archive, got)
				return
			}
			want := Outcome{said[exitFile], said[stdoutFile], said[stderrFile]}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// unpack writes the input files of a case into the working directory and returns the others.
func unpack(t *testing.T, archive *txtar.Archive) map[string]string {
	t.Helper()
	said := map[string]string{}
	for _, f := range archive.Files {
		switch f.Name {
		case argsFile, stdinFile, exitFile, stdoutFile, stderrFile:
			said[f.Name] = string(f.Data)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(f.Name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f.Name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if said[argsFile] == "" {
		t.Fatal("the case has no args")
	}
	return said
}

func rewriteCase(t *testing.T, path string, archive *txtar.Archive, got Outcome) {
	t.Helper()
	var files []txtar.File
	for _, f := range archive.Files {
		if f.Name != exitFile && f.Name != stdoutFile && f.Name != stderrFile {
			files = append(files, f)
		}
	}
	files = append(files, txtar.File{Name: exitFile, Data: []byte(got.Exit)})
	for _, f := range []txtar.File{{Name: stdoutFile, Data: []byte(got.Stdout)}, {Name: stderrFile, Data: []byte(got.Stderr)}} {
		if len(f.Data) > 0 {
			files = append(files, f)
		}
	}
	archive.Files = files
	if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
