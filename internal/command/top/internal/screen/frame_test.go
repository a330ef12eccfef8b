package screen

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the frames of testdata")

// session is a user in front of the model: it does what Update returns at once, but for ticks.
type session struct {
	*testing.T
	Model
	now time.Time
}

// start shows a fleet on a screen of this size.
func start(t *testing.T, source *fakeSource, width, height int) *session {
	t.Helper()
	s := &session{T: t, now: noon()}
	options := Options{Source: source, Clock: func() time.Time { return s.now }, Interval: 2 * time.Second}
	m, err := options.model(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	s.Model = m
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	s.changed()
	return s
}

// changed says that the cluster has changed.
func (s *session) changed() {
	s.changes = nil // waiting for it would block
	m, cmd := s.Model.update(changeMsg{open: false})
	s.Model = m
	s.do(cmd)
	s.polled = false
}

func (s *session) send(msg tea.Msg) {
	m, cmd := s.Model.update(msg)
	s.Model = m
	s.do(cmd)
}

// do runs a command and sends what comes of it.
func (s *session) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, one := range msg {
			s.do(one)
		}
	case nil, tea.QuitMsg:
	default:
		s.send(msg)
	}
}

// tick lets time pass, without the command for the next tick.
func (s *session) tick(d time.Duration) {
	s.now = s.now.Add(d)
	s.Model.now = s.now
	m, cmd := s.Model.catchUp()
	s.Model = m.settle()
	s.do(cmd)
}

// press presses keys: names as Bubble Tea has them.
func (s *session) press(keys ...string) {
	for _, key := range keys {
		s.send(keyMsg(key))
	}
}

func keyMsg(name string) tea.KeyPressMsg {
	for code, known := range map[rune]string{
		tea.KeyEnter: "enter", tea.KeyEscape: "esc", tea.KeyTab: "tab", tea.KeyUp: "up", tea.KeyDown: "down", tea.KeyPgUp: "pgup", tea.KeyPgDown: "pgdown",
		tea.KeyHome: "home", tea.KeyEnd: "end", tea.KeyBackspace: "backspace", tea.KeyLeft: "left", tea.KeyRight: "right",
	} {
		if known == name {
			return tea.KeyPressMsg{Code: code}
		}
	}
	if name == "space" {
		return tea.KeyPressMsg{Code: ' ', Text: " "}
	}
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(rest[0]), Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// typed types text.
func (s *session) typed(text string) {
	for _, r := range text {
		s.press(string(r))
	}
}

// text is the screen without styles.
func (s *session) text() string {
	var b strings.Builder
	for _, l := range s.frame() {
		b.WriteString(l.plain() + "\n")
	}
	return b.String()
}

// fits fails unless the frame is as large as the screen.
func (s *session) fits() {
	s.Helper()
	lines := s.frame()
	if len(lines) != s.height {
		s.Errorf("the frame has %d lines on a screen of %d:\n%s", len(lines), s.height, s.text())
	}
	for _, l := range lines {
		if l.width() > s.width {
			s.Errorf("a line is %d wide on a screen of %d: %s", l.width(), s.width, l.plain())
		}
	}
}

// has fails unless the screen shows all of these texts.
func (s *session) has(texts ...string) {
	s.Helper()
	for _, text := range texts {
		if !strings.Contains(s.text(), text) {
			s.Errorf("the screen does not show %q:\n%s", text, s.text())
		}
	}
}

// lacks fails if the screen shows one of these texts.
func (s *session) lacks(texts ...string) {
	s.Helper()
	for _, text := range texts {
		if strings.Contains(s.text(), text) {
			s.Errorf("the screen shows %q:\n%s", text, s.text())
		}
	}
}

// golden compares the screen with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-file +frame), run with -update to write it:\n%s", path, diff)
	}
}

func TestFrames(t *testing.T) {
	unknown := []string{"The ledger is not known, so that commands under way are missing.", "Prices of 2 nodes are not known."}
	for name, keys := range map[string][]string{
		"nodes":         nil,
		"nodes-sorted":  {"s", "s", "s", "s", "j", "j"},
		"nodes-end":     {"G"},
		"node":          {"j", "j", "enter"},
		"node-sections": {"j", "j", "enter", "tab", "tab"},
		"pending":       {"2"},
		"pending-pods":  {"2", "enter"},
		"moves":         {"3"},
		"move":          {"3", "enter"},
		"budgets":       {"3", "G", "enter"},
		"cost":          {"4"},
		"pools":         {"5"},
		"pool":          {"5", "enter"},
		"help":          {"?"},
		"unknown":       {"3", "u"},
	} {
		for _, size := range [][2]int{{80, 24}, {200, 50}} {
			t.Run(fmt.Sprintf("%s/%d", name, size[0]), func(t *testing.T) {
				s := start(t, &fakeSource{nodes: 30, unknown: unknown}, size[0], size[1])
				s.press(keys...)
				s.fits()
				golden(t, fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), s.text())
			})
		}
	}
}

func TestEveryFrameFitsItsScreen(t *testing.T) {
	for _, width := range []int{1, 2, 5, 11, 20, 39, 40, 79, 81, 119, 120, 300} {
		for _, height := range []int{1, 2, 3, 5, 6, 8, 11, 12, 13, 100} {
			s := start(t, &fakeSource{nodes: 14, unknown: []string{"Something."}}, width, height)
			for _, keys := range [][]string{nil, {"enter"}, {"esc", "2"}, {"enter"}, {"3"}, {"4"}, {"5"}, {"enter", "G"}, {"?"}, {"u"}, {"1", "/"}} {
				s.press(keys...)
				s.fits()
				if s.Failed() {
					t.Fatalf("at %dx%d after %v", width, height, keys)
				}
			}
		}
	}
}

func TestCharactersOfTheClusterDoNotControlTheTerminal(t *testing.T) {
	for _, evil := range []string{"a\x1b[2Jb", "a\x9b2Jb", "a\rb\nc", "a\u202eb", "\a\x7f", "\xff\xfe"} {
		for _, l := range [][]string{{pad(evil, 10, false)}, {shorten(evil, 3)}, wrap(evil, 30), {say(plain, evil).plain()}, {line{{evil, plain}}.styled()}} {
			for _, text := range l {
				for _, r := range text {
					if r < ' ' || r == 0x7f || r >= 0x80 && r <= 0x9f || r == '\u202e' {
						t.Errorf("%q became %q, which has %q", evil, text, r)
					}
				}
			}
		}
	}
}

func TestWideCharactersKeepColumns(t *testing.T) {
	for text, want := range map[string]string{"節点": "節点  ", "節点節点": "節~   ", "abc": "abc   ", "abcdefgh": "abcde~"} {
		got := pad(text, 6, false)
		if width(got) != 6 {
			t.Errorf("%q is %d wide", got, width(got))
		}
		if text == "abcdefgh" && got != want {
			t.Errorf("%q became %q instead of %q", text, got, want)
		}
	}
}
