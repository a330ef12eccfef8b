package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// waivedFile holds the lines that no test has to cover.
const waivedFile = "waived.txt"

// list is one checklist.
type list struct {
	// name is the file's name without extension.
	name string
	// prefix is what the numbers of the list begin with, such as "L".
	prefix   string
	sections []section
}

// section is a heading with the lines below it.
type section struct {
	title string
	lines []line
}

// line is one behavior: its number, such as "L034", and its text.
type line struct{ number, text string }

// prefixForm is what a prefix looks like, and listLine a line of a checklist or of the waived ones.
var (
	prefixForm = regexp.MustCompile(`^[A-Z]+$`)
	listLine   = regexp.MustCompile(`^([A-Z]+[0-9]{3})\s+(\S.*)$`)
)

// readLists reads every checklist of the directory, sorted by name. No two may share a prefix.
func readLists(dir string) ([]list, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var lists []list
	byPrefix := map[string]string{}
	for _, path := range paths {
		if filepath.Base(path) == waivedFile {
			continue
		}
		l, err := readList(path)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		if other, taken := byPrefix[l.prefix]; taken {
			return nil, fmt.Errorf("checklists %s and %s have the same prefix %s", other, l.name, l.prefix)
		}
		byPrefix[l.prefix] = l.name
		lists = append(lists, l)
	}
	if len(lists) == 0 {
		return nil, fmt.Errorf("directory %s holds no checklists", dir)
	}
	return lists, nil
}

func readList(path string) (list, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return list{}, err
	}
	l := list{name: strings.TrimSuffix(filepath.Base(path), ".txt")}
	last := ""
	for i, row := range strings.Split(string(text), "\n") {
		if row = strings.TrimSpace(row); row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		if prefix, ok := strings.CutPrefix(row, "prefix "); ok && l.prefix == "" {
			if l.prefix = prefix; !prefixForm.MatchString(prefix) {
				return list{}, fmt.Errorf("line %d: prefix %q is not made of capitals", i+1, prefix)
			}
			continue
		}
		parts := listLine.FindStringSubmatch(row)
		switch {
		case l.prefix == "":
			return list{}, fmt.Errorf("line %d: want a prefix first", i+1)
		case parts == nil:
			l.sections = append(l.sections, section{title: row})
		case strings.TrimRight(parts[1], "0123456789") != l.prefix:
			return list{}, fmt.Errorf("line %d: %s does not begin with %s", i+1, parts[1], l.prefix)
		case parts[1] <= last:
			return list{}, fmt.Errorf("line %d: %s comes after %s", i+1, parts[1], last)
		case len(l.sections) == 0:
			return list{}, fmt.Errorf("line %d: %s stands in no section", i+1, parts[1])
		default:
			last = parts[1]
			s := &l.sections[len(l.sections)-1]
			s.lines = append(s.lines, line{parts[1], parts[2]})
		}
	}
	return l, nil
}

// readWaived reads the waived lines with their reasons. The file may be missing.
func readWaived(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for i, row := range strings.Split(string(text), "\n") {
		if row = strings.TrimSpace(row); row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		parts := listLine.FindStringSubmatch(row)
		if parts == nil {
			return nil, fmt.Errorf("%s:%d: want a number and a reason", path, i+1)
		}
		if _, twice := out[parts[1]]; twice {
			return nil, fmt.Errorf("%s:%d: %s is waived twice", path, i+1, parts[1])
		}
		out[parts[1]] = parts[2]
	}
	return out, nil
}

// numberInName matches a number of the checklists in the name of a function, where an underscore precedes it.
func numberInName(lists []list) *regexp.Regexp {
	prefixes := make([]string, len(lists))
	for i, l := range lists {
		prefixes[i] = l.prefix
	}
	return regexp.MustCompile(`_(?:` + strings.Join(prefixes, "|") + `)[0-9]{3}(?:_|$)`)
}
