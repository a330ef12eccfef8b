package convert

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/test/commandtest"
)

// convertText runs "karpenter convert" without the environment of the host.
func convertText(stdin string, args ...string) commandtest.Outcome {
	return commandtest.Run(line(), stdin, append([]string{"convert"}, args...)...)
}

// line is a command line with karpenter convert.
func line() any {
	return &struct {
		Convert Command `cmd:""`
	}{}
}

// TestConvert runs the cases of testdata. Converted objects are current, so that converting them again changes
// nothing; with any error, convert prints no objects.
func TestConvert(t *testing.T) {
	commandtest.Cases(t, "testdata", func(t *testing.T, stdin string, args []string) commandtest.Outcome {
		got := convertText(stdin, args...)
		checkConverted(t, got, args)
		return got
	})
}

// checkConverted checks what holds for every case.
func checkConverted(t *testing.T, got commandtest.Outcome, args []string) {
	t.Helper()
	if got.Exit != "0\n" {
		if got.Stdout != "" {
			t.Errorf("exit code %sand still something is printed:\n%s", got.Exit, got.Stdout)
		}
		return
	}
	format := "yaml"
	if strings.Contains(strings.Join(args, " "), "-o json") {
		format = "json"
	}
	again := convertText(got.Stdout, "-f", "-", "-o", format)
	if diff := cmp.Diff(got.Stdout, again.Stdout); diff != "" || again.Exit != "0\n" {
		t.Errorf("a second conversion: exit code %s%s(-first +second)\n%s", again.Exit, again.Stderr, diff)
	}
}

// TestConvertTakesAllFilesOfAPattern: the shell turns -f *.yaml into -f and any number of files.
func TestConvertTakesAllFilesOfAPattern(t *testing.T) {
	args := []string{"-f"}
	for _, name := range []string{"a", "b", "c", "d,e"} {
		args = append(args, filepath.Join(t.TempDir(), name+".yaml"))
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + strings.ReplaceAll(name, ",", "-") + "}\n"
		if err := os.WriteFile(args[len(args)-1], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := convertText("", args...)
	for _, name := range []string{"name: a", "name: b", "name: c", "name: d-e"} {
		if !strings.Contains(got.Stdout, name) {
			t.Errorf("%s is missing: exit code %s%s%s", name, got.Exit, got.Stdout, got.Stderr)
		}
	}
}

// TestConvertReportsWhatCannotBeWritten makes a full disk a failure.
func TestConvertReportsWhatCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	var stderr bytes.Buffer
	if code := commandtest.Code(line(), command.Streams{In: strings.NewReader(""), Out: full, Err: &stderr}, "convert", "../../../examples/aws/nodepool.yaml"); code != command.ExitFailed {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}

// TestConvertLeavesTodaysFilesAlone checks that the examples, which are of today, come out byte for byte.
func TestConvertLeavesTodaysFilesAlone(t *testing.T) {
	for _, pattern := range []string{"../../../examples/aws/*.yaml", "../../../examples/kwok/*.yaml", "../../../examples/simulate/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := convertText("", "-f", file); got.Exit != "0\n" || got.Stdout != string(text) || got.Stderr != "" {
				t.Errorf("%s: exit code %s%s(-file +printed)\n%s", file, got.Exit, got.Stderr, cmp.Diff(string(text), got.Stdout))
			}
		}
	}
}
