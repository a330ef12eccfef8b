package main

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"
)

const committedLimits = "../../cloud/aws/instancetype/limits.txt"

// The committed limits are what the pinned sources give, byte for byte.
func TestCommittedLimitsAreFresh(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.txt")
	if err := writeLimits(path); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(committedLimits)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the generator writes: run go generate ./cloud/aws/instancetype", committedLimits)
	}
}

func TestLimitsAreReadFromSource(t *testing.T) {
	const text = `package p
var Limits = map[string]*L{
	"m5.large": {Interface: 3, IPv4PerInterface: 10, IsTrunkingCompatible: true, BranchInterface: 9, NetworkCards: []C{{MaximumNetworkInterfaces: 3, NetworkCardIndex: 0}}},
	"t3.large": {Interface: 3, IPv4PerInterface: 12, IsTrunkingCompatible: false, BranchInterface: 0},
}`
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	table, err := parseLimits(file)
	if err != nil {
		t.Fatal(err)
	}
	instances := []instance{{Type: "m5.large", NetworkPerformance: "10 Gigabit"}, {Type: "x.only", NetworkPerformance: "4x 100 Gigabit"}, {Type: "x.vague", NetworkPerformance: "Up to 10 Gigabit"}}
	got := encodeLimits(source{path: "p", version: "v"}, instances, table)
	_, lines, _ := bytes.Cut(got, []byte("exactly)\n"))
	want := "m5.large 3 10 9 10000\nt3.large 3 12 - -\nx.only 0 0 - 400000\n"
	if string(lines) != want {
		t.Errorf("got\n%s\nwant\n%s", lines, want)
	}
}

func TestBandwidth(t *testing.T) {
	for text, want := range map[string]string{
		"50 Gigabit": "50000", "12.5 Gigabit": "12500", "4x 100 Gigabit": "400000", "Up to 10 Gigabit": "-", "Moderate": "-", "": "-",
	} {
		if got := bandwidth(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
