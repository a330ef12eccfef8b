package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// TestOutputPage: the page has a row for each command with formats, with those that the command takes, the default one first.
func TestOutputPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/output.md")
	if err != nil {
		t.Fatal(err)
	}
	none := func(string) (string, bool) { return "", false }
	parser, err := kong.New(newCommandLine(binary()), append(options.Kong(none, providers().Names()...), kong.Bind(command.Streams{}))...)
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z ]+)` \\|(.*)\\|$").FindAllStringSubmatch(string(page), -1) {
		for _, word := range regexp.MustCompile("`([a-z]+)(=TEMPLATE)?`").FindAllStringSubmatch(row[2], -1) {
			documented[row[1]] = append(documented[row[1]], word[1])
		}
	}
	have := map[string][]string{}
	err = kong.Visit(parser.Model.Node, func(at kong.Visitable, next kong.Next) error {
		of, ok := at.(*kong.Node)
		if !ok {
			return next(nil)
		}
		for _, flag := range of.Flags {
			if _, general := flag.Target.Interface().(command.Output); flag.Name == "output" && (general || flag.Enum != "") {
				words := strings.Split(flag.Enum, ",")
				if general {
					words = append(strings.Split(flag.Tag.Get("complete"), ","), "jsonpath")
				}
				if words[0] != flag.Default {
					t.Errorf("%s: the default is %s, and the first format %s", of.Path(), flag.Default, words[0])
				}
				have[strings.TrimSpace(strings.TrimPrefix(of.FullPath(), parser.Model.Name))] = words
			}
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, words := range have {
		if !slices.Equal(documented[name], words) {
			t.Errorf("%s has the formats %q, and on the page %q", name, words, documented[name])
		}
	}
	for name := range documented {
		if have[name] == nil {
			t.Errorf("%s is on the page, and has no formats", name)
		}
	}
}

// TestJSONPathSelects what -o json prints, for commands without a cluster; a template with a mistake is an invalid command line.
func TestJSONPathSelects(t *testing.T) {
	const snapshot = "--snapshot=../../examples/explain/shop.yaml"
	for _, c := range []struct {
		args []string
		path string
	}{
		{[]string{"version"}, "goVersion"},
		{[]string{"simulate", snapshot}, "version"},
		{[]string{"diff", snapshot, "-f", "../../examples/kwok/nodepool.yaml"}, "kind"},
		{[]string{"explain", "node", "node-1", snapshot}, "kind"},
		{[]string{"top", "--once", snapshot}, "kind"},
	} {
		var whole map[string]any
		if err := json.Unmarshal([]byte(invoke("", append(c.args, "-o", "json")...).Stdout), &whole); err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		if got := invoke("", append(c.args, "-o", "jsonpath={."+c.path+"}")...); whole[c.path] == nil || got.Stdout != whole[c.path].(string)+"\n" {
			t.Errorf("%q prints %q, want %q: %s", c.args, got.Stdout, whole[c.path], got.Stderr)
		}
		if got := invoke("", append(c.args, "-o", "jsonpath={.open")...); got.Exit != "2\n" || !strings.Contains(got.Stderr, "no JSONPath") {
			t.Errorf("%q with a mistake in the template ends with %s%s", c.args, got.Exit, got.Stderr)
		}
		if got := invoke("", append(c.args, "-o", "xml")...); got.Exit != "2\n" || !strings.Contains(got.Stderr, "jsonpath=TEMPLATE") {
			t.Errorf("%q with an unknown format ends with %s%s", c.args, got.Exit, got.Stderr)
		}
	}
}
