package main

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDraw(t *testing.T) {
	lines, err := record([]string{"/bin/sh", "-c", "echo 'a <b> & c'; echo last"})
	if err != nil {
		t.Fatal(err)
	}
	image, err := draw("sh -c", lines, 80)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for decoder := xml.NewDecoder(strings.NewReader(string(image))); ; {
		token, err := decoder.Token()
		if err == io.EOF { //nolint:errorlint // the decoder returns it as it is
			break
		}
		if err != nil {
			t.Fatalf("the image is no XML: %v\n%s", err, image)
		}
		if text, ok := token.(xml.CharData); ok {
			texts = append(texts, string(text))
		}
	}
	for _, want := range []string{"$ sh -c", "a <b> & c", "last"} {
		if !slices.Contains(texts, want) {
			t.Errorf("the image has the texts %q, without %q", texts, want)
		}
	}
	if _, err := record([]string{"/bin/sh", "-c", "exit 3"}); err == nil {
		t.Error("a program that failed was recorded")
	}
}

func TestLongPausesAreShortened(t *testing.T) {
	got := shorten([]line{{"a", time.Second}, {"b", 9 * time.Second}, {"c", 10 * time.Second}}, 2*time.Second)
	if want := []line{{"a", time.Second}, {"b", 3 * time.Second}, {"c", 4 * time.Second}}; !slices.Equal(got, want) {
		t.Errorf("shortened to %v, want %v", got, want)
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string][]string{
		"short":             {"short"},
		"one two three":     {"one two", "  three"},
		"unbrokenunbroken":  {"unbrokenunbroken"},
		"· · · · · · · · ·": {"· · · ·", "  · · ·", "  · ·"},
	} {
		if got := wrap(text, 8); !slices.Equal(got, want) {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
