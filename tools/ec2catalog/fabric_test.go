package main

import (
	"go/parser"
	"go/token"
	"testing"
)

func TestFabricIsReadFromSource(t *testing.T) {
	const text = `package p
var InstanceTypes = []I{
	{InstanceType: "g6.8xlarge", EFASupported: true, CPUArch: "x86-64"},
	{InstanceType: "g6.xlarge", EFASupported: false},
}`
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	table, err := parseFabric(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(table) != 2 || !table["g6.8xlarge"] || table["g6.xlarge"] {
		t.Errorf("got %v", table)
	}
}

func TestFabricAdapters(t *testing.T) {
	table := fabric{
		"c7i.24xlarge": false, "c7i.48xlarge": true, "c7g.8xlarge": false, "c7g.16xlarge": true, "c6g.16xlarge": false, "p5en.48xlarge": true, "trn2.48xlarge": true, "g6.8xlarge": true,
	}
	for _, of := range []struct {
		name  string
		cards int
		want  string
	}{
		{"p5en.48xlarge", 16, "16"},
		{"g6.8xlarge", 1, "1"},
		{"c7g.8xlarge", 1, "-"},
		{"c7g.metal", 1, "1"},
		{"c6g.metal", 1, "-"},
		{"c7i.metal-48xl", 1, "1"},
		{"c7i.metal-24xl", 1, "-"},
		{"trn2.48xlarge", 0, "1+"}, // its cards are in no data set
		{"unknown.48xlarge", 0, "-"},
	} {
		if got := table.adapters(of.name, of.cards); got != of.want {
			t.Errorf("%s has %s adapters, want %s", of.name, got, of.want)
		}
	}
}
