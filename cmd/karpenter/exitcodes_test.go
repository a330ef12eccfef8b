package main

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// TestExitCodesPage: the page has a row for each command, in the order of the help, with the codes that the help of the command names.
func TestExitCodesPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	line := newCommandLine(binary())
	none := func(string) (string, bool) { return "", false }
	parser, err := kong.New(line, append(options.Kong(none, providers().Names()...), kong.Bind(command.Streams{}))...)
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|(.*)\\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) != len(parser.Model.Children) {
		t.Fatalf("the page has %d commands, the command line %d", len(rows), len(parser.Model.Children))
	}
	for i, of := range parser.Model.Children {
		if rows[i][1] != of.Name {
			t.Errorf("row %d is about %s, want %s", i, rows[i][1], of.Name)
			continue
		}
		var documented []int
		for code, meaning := range strings.Split(rows[i][2], "|") {
			if strings.TrimSpace(meaning) != "" {
				documented = append(documented, code)
			}
		}
		_, text, told := strings.Cut(of.Detail, "Exit codes:")
		if !told {
			if want := []int{command.ExitOK, command.ExitFailed, command.ExitUsage}; !slices.Equal(documented, want) {
				t.Errorf("%s has the codes %v on the page, want %v", of.Name, documented, want)
			}
			continue
		}
		var helped []int
		for _, found := range regexp.MustCompile(`[:;] (\d) `).FindAllStringSubmatch(":"+text, -1) {
			code, err := strconv.Atoi(found[1])
			if err != nil {
				t.Fatal(err)
			}
			helped = append(helped, code)
		}
		if !slices.Equal(documented, helped) {
			t.Errorf("%s has the codes %v on the page, and %v in its help", of.Name, documented, helped)
		}
	}
}

// TestExitCodesOfInvalidFlags: the column of the page that says "invalid" is that of an unknown flag.
func TestExitCodesOfInvalidFlags(t *testing.T) {
	if command.ExitOK != 0 || command.ExitFailed != 1 || command.ExitUsage != 2 || command.ExitUnplaced != 3 || command.ExitNotFound != 3 {
		t.Error("the exit codes changed: correct docs/exit-codes.md")
	}
	for _, name := range []string{"controller", "demo", "simulate", "snapshot", "explain", "diff", "ledger", "convert", "probe", "completion", "version"} {
		const want = "2\n"
		if got := invoke("", name, "--no-such-flag"); got.Exit != want {
			t.Errorf("%s: exit code %s, want %s: %s", name, got.Exit, want, got.Stderr)
		}
	}
}
