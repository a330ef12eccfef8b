package internal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// licenses are the beginnings of the licenses that may be linked into the controller, each with a text that only it has.
var licenses = map[string]*regexp.Regexp{
	"Apache-2.0": regexp.MustCompile(`Apache License,? Version 2\.0|Licensed under the Apache License, Version 2\.0`),
	"MIT":        regexp.MustCompile(`Permission is hereby granted, free of charge, to any person obtaining a copy`),
	"BSD":        regexp.MustCompile(`Redistribution and use in source and binary forms, with or without modification, are permitted`),
	"ISC":        regexp.MustCompile(`Permission to use, copy, modify, and(/or)? distribute this software for any purpose with or without fee`),
}

// backtracking are modules with regular expressions that take exponential time for some inputs. Those of Go take linear time.
var backtracking = []string{"github.com/dlclark/regexp2", "github.com/glenn-brown/golang-pkg-pcre", "go.elara.ws/pcre", "github.com/GRbit/go-pcre", "github.com/go-enry/go-oniguruma"}

// TestLinkedModules checks all modules that are linked into the controller: each has a license file with one of licenses, and none brings regular
// expressions that backtrack.
func TestLinkedModules(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "./cmd/karpenter")
	list.Dir = ".."
	list.Stderr = os.Stderr
	text, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			modules[path] = dir
		}
	}
	if len(modules) < 50 {
		t.Fatalf("only %d modules are linked", len(modules))
	}
	for _, path := range backtracking {
		if modules[path] != "" {
			t.Errorf("%s is linked: its regular expressions take exponential time for some inputs", path)
		}
	}
	counts := map[string]int{}
	for path, dir := range modules {
		name := licenseOf(t, dir)
		if name == "" {
			t.Errorf("%s has no license file with one of the licenses that may be linked", path)
		}
		counts[name]++
	}
	t.Logf("%d modules: %v", len(modules), counts)
}

// licenseOf returns the name of the license of a module; empty without one that is known.
func licenseOf(t *testing.T, dir string) string {
	t.Helper()
	for _, pattern := range []string{"LICEN[SC]E*", "COPYING*", "[Ll]icen[sc]e*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // a folder with licenses
			}
			words := strings.Join(strings.Fields(string(text)), " ")
			for name, says := range licenses {
				if says.MatchString(words) {
					return name
				}
			}
		}
	}
	return ""
}
