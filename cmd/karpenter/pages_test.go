package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/test/commandtest"
)

// pages returns the pages with commands, which are read as follows:
//
//   - A fenced block whose first line is "$ karpenter …" is a command and what it prints. A command that needs no cluster is run and
//     has to print that. A line "..." stands for whatever is left out. "go test -update" writes what is printed, but for blocks with
//     such a line.
//   - In any other fenced block, a line that begins with "karpenter" is a command. If it needs no cluster and every file that it names
//     exists, it is run, and must not fail; pods may be left without a place.
//   - Flags of all commands have to exist.
//   - Flags in the text, such as `--feature-gates`, have to be flags of some command, unless the text is a command of another program.
func pages(t *testing.T) []string {
	t.Helper()
	t.Chdir("../..")
	out := []string{"README.md", "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "charts/*/README.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(found), err)
		}
		out = append(out, found...)
	}
	return out
}

func TestPagesShowWhatIsPrinted(t *testing.T) {
	for _, page := range pages(t) {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := string(content)
		for _, block := range fenced(text) {
			args, isShown := strings.CutPrefix(block, "$ karpenter ")
			if !isShown {
				checkCommands(t, page, block)
				continue
			}
			line, shown, _ := strings.Cut(args, "\n")
			checkFlags(t, page, strings.Fields(line))
			words := shellWords(line)
			if !standsAlone(words) {
				continue
			}
			got := invoke("", words...)
			if *commandtest.Update && got.Stdout != "" && !slices.Contains(strings.Split(strings.ReplaceAll(shown, " ", ""), "\n"), "...") {
				text = strings.Replace(text, block, "$ karpenter "+line+"\n"+got.Stdout, 1)
				continue
			}
			if got.Exit != "0\n" && got.Exit != "3\n" {
				t.Errorf("%s: %q ends with %s%s", page, line, got.Exit, got.Stderr)
			}
			if diff := differs(got.Stdout, shown); diff != "" {
				t.Errorf("%s is stale at %q, run the test with -update; standard error is %q (-printed +shown)\n%s", page, line, got.Stderr, diff)
			}
		}
		if *commandtest.Update {
			if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// differs compares what is printed with what is shown, in which a line "..." stands for any lines.
func differs(printed, shown string) string {
	var pattern strings.Builder
	for line := range strings.Lines(shown) {
		if strings.TrimSpace(line) == "..." {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		pattern.WriteString(regexp.QuoteMeta(line))
	}
	if regexp.MustCompile("^" + pattern.String() + "$").MatchString(printed) {
		return ""
	}
	return cmp.Diff(strings.Split(printed, "\n"), strings.Split(shown, "\n"))
}

// fenced are the blocks of a page.
func fenced(text string) []string {
	var out []string
	for i, part := range strings.Split("\n"+text, "\n```") {
		if i%2 == 1 {
			_, block, _ := strings.Cut(part, "\n")
			out = append(out, block+"\n")
		}
	}
	return out
}

// checkCommands checks the commands of a block that shows no output.
func checkCommands(t *testing.T, page, block string) {
	t.Helper()
	for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
		args, ok := strings.CutPrefix(line, "karpenter ")
		if !ok {
			continue
		}
		words := shellWords(args)
		checkFlags(t, page, words)
		if !standsAlone(words) || !filesExist(words) {
			continue
		}
		if got := invoke("", words...); got.Exit != "0\n" && got.Exit != "3\n" {
			t.Errorf("%s: %s ends with %s%s", page, line, got.Exit, got.Stderr)
		}
	}
}

// standsAlone reports whether a command needs no cluster.
func standsAlone(words []string) bool {
	return slices.Contains([]string{"simulate", "convert", "version"}, words[0]) || words[0] == "explain" && slices.Contains(words, "--snapshot")
}

// filesExist reports whether everything that looks like a file is one.
func filesExist(words []string) bool {
	for i, word := range words {
		if !slices.Contains([]string{"-f", "--filename", "--snapshot", "--instance-types-file-path"}, words[max(i-1, 0)]) {
			continue
		}
		if _, err := os.Stat(word); err != nil || word == "." {
			return false
		}
	}
	return true
}

// shellWords splits a line as a shell does; a comment ends it.
func shellWords(line string) []string {
	line = regexp.MustCompile(` [#|].*`).ReplaceAllString(line, "")
	return strings.Fields(strings.ReplaceAll(line, "'", ""))
}

var aFlag = regexp.MustCompile(`^--[a-z][a-z0-9-]*`)

// flagsOf are the flags of a subcommand, as its help names them.
func flagsOf(t *testing.T, subcommand string) []string {
	t.Helper()
	var out bytes.Buffer
	none := func(string) (string, bool) { return "", false }
	if code := run(append(strings.Fields(subcommand), "--help"), none, command.Streams{In: strings.NewReader(""), Out: &out, Err: &out}); code != command.ExitOK {
		t.Fatalf("there is no karpenter %s: %s", subcommand, &out)
	}
	return regexp.MustCompile(`--[a-z][a-z0-9-]*`).FindAllString(out.String(), -1)
}

func checkFlags(t *testing.T, page string, words []string) {
	t.Helper()
	subcommand := words[0]
	if subcommand == "explain" {
		subcommand += " pod"
	}
	if subcommand == "plan" && len(words) > 1 {
		subcommand += " " + words[1]
	}
	known := flagsOf(t, subcommand)
	for _, word := range words {
		if flag := aFlag.FindString(word); flag != "" && !slices.Contains(known, flag) {
			t.Errorf("%s: karpenter %s has no flag %s", page, words[0], flag)
		}
	}
}

func TestPagesNameFlagsThatExist(t *testing.T) {
	known := []string{"--skip-crds", "--set", "--cascade", "--plain-http"} // of helm and kubectl
	known = append(known, "--expander", "--balance-similar-node-groups", "--scale-down-unneeded-time", "--scale-down-utilization-threshold",
		"--scale-down-enabled", "--max-node-provision-time", "--max-graceful-termination-sec", "--startup-taint") // of Cluster Autoscaler
	for _, subcommand := range []string{"controller", "demo", "simulate", "snapshot", "explain pod", "diff", "console", "top", "shadow", "ledger", "plan list", "plan approve", "convert", "version"} {
		known = append(known, flagsOf(t, subcommand)...)
	}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range regexp.MustCompile("`[^`\n]+`").FindAllString(string(text), -1) {
			words := strings.Fields(strings.Trim(code, "`"))
			if len(words) == 0 || slices.Contains([]string{"aws", "kubectl", "helm", "go", "eks-node-viewer"}, words[0]) {
				continue
			}
			for _, word := range words {
				if flag := aFlag.FindString(word); flag != "" && !slices.Contains(known, flag) {
					t.Errorf("%s: %s names the flag %s, which no command has", page, code, flag)
				}
			}
		}
	}
}
