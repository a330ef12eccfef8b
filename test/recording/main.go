// Command recording runs a program and draws what it prints as an animated SVG image of a terminal, with the delays of the run:
//
//	go run ./test/recording -out docs/images/demo.svg -title 'karpenter demo' bin/karpenter demo
//
// Pauses longer than -pause are shortened, and the image begins again a few seconds after the last line.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"
)

func main() {
	out := flag.String("out", "", "the file of the image")
	title := flag.String("title", "", "the command line that is shown")
	pause := flag.Duration("pause", 2*time.Second, "the longest pause between two lines")
	width := flag.Int("width", 132, "the number of characters in a line; longer lines are cut")
	flag.Parse()
	if err := run(*out, *title, *pause, *width, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func run(out, title string, pause time.Duration, width int, command []string) error {
	if out == "" || len(command) == 0 {
		return errors.New("usage: recording -out FILE.svg [-title TEXT] PROGRAM [ARGUMENT…]")
	}
	lines, err := record(command)
	if err != nil {
		return err
	}
	image, err := draw(cmp.Or(title, strings.Join(command, " ")), shorten(lines, pause), width)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, image, 0o644); err != nil { //nolint:gosec // an image for everyone
		return fmt.Errorf("writing the image: %w", err)
	}
	return nil
}

// line is a line of output, and when it came.
type line struct {
	text string
	at   time.Duration
}

// record runs a program until it ends and returns what it printed.
func record(command []string) ([]line, error) {
	program := exec.Command(command[0], command[1:]...) //nolint:gosec // the caller's
	program.Stderr = os.Stderr
	output, err := program.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	start := time.Now()
	if err := program.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", command[0], err)
	}
	var lines []line
	for scanner := bufio.NewScanner(output); scanner.Scan(); {
		lines = append(lines, line{scanner.Text(), time.Since(start)})
	}
	if err := program.Wait(); err != nil {
		return nil, fmt.Errorf("%s: %w", command[0], err)
	}
	return lines, nil
}

// shorten shortens long pauses.
func shorten(lines []line, pause time.Duration) []line {
	out := make([]line, 0, len(lines))
	var before, saved time.Duration
	for _, l := range lines {
		saved += max(0, l.at-before-pause)
		before = l.at
		out = append(out, line{l.text, l.at - saved})
	}
	return out
}

//go:embed image.svg.tmpl
var imageText string

const (
	// rowHeight and charWidth are the size of a character in the image.
	rowHeight, charWidth = 18, 7.4
	// margin is the space around the text, and header what the title takes.
	margin, header = 16, 34
	// rest is how long the whole text is shown before it begins again.
	rest = 6 * time.Second
)

// row is a line of the image.
type row struct {
	Text string
	Y    int
	// Share is the part of the animation, in percent, after which the line appears.
	Share float64
	// Bold rows are the title and the last line.
	Bold bool
}

// draw returns the image.
func draw(title string, lines []line, width int) ([]byte, error) {
	image, err := template.New("image").Parse(imageText)
	if err != nil {
		return nil, fmt.Errorf("reading the template: %w", err)
	}
	total := rest
	if len(lines) > 0 {
		total += lines[len(lines)-1].at
	}
	rows := []row{{Text: "$ " + title, Y: header + margin, Bold: true}}
	for i, l := range lines {
		for _, text := range wrap(l.text, width) {
			rows = append(rows, row{
				Text: text, Y: header + margin + len(rows)*rowHeight, Share: 100 * l.at.Seconds() / total.Seconds(), Bold: i == len(lines)-1,
			})
		}
	}
	var out bytes.Buffer
	err = image.Execute(&out, map[string]any{
		"Rows": rows, "Seconds": total.Seconds(), "Width": int(2*margin + float64(width)*charWidth), "Height": header + 2*margin + len(rows)*rowHeight,
	})
	if err != nil {
		return nil, fmt.Errorf("drawing: %w", err)
	}
	return out.Bytes(), nil
}

// wrap breaks a text into rows at spaces. Rows after the first one are indented.
func wrap(text string, width int) []string {
	var rows []string
	for utf8.RuneCountInString(text) > width {
		cut := strings.LastIndex(string([]rune(text)[:width]), " ")
		if cut <= 0 {
			break
		}
		rows, text = append(rows, text[:cut]), "  "+text[cut+1:]
	}
	return append(rows, text)
}
