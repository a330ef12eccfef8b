package screen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karpenter-anew/karpenter/internal/view"
)

// cursor is the row with the cursor.
func (s *session) cursor() string {
	for l := range strings.Lines(s.text()) {
		if rest, ok := strings.CutPrefix(l, "> "); ok {
			return strings.Fields(rest)[0]
		}
	}
	return ""
}

func (s *session) at(want string) {
	s.Helper()
	if got := s.cursor(); got != want {
		s.Errorf("the cursor is at %q instead of %q:\n%s", got, want, s.text())
	}
}

func TestKeysMoveTheCursor(t *testing.T) {
	s := start(t, &fakeSource{nodes: 100}, 80, 24)
	for _, step := range []struct{ keys, want string }{
		{"", "ip-10-0-0-0"},
		{"j down", "ip-10-0-0-2"},
		{"k up up", "ip-10-0-0-0"},
		{"pgdown", "web-00016"},
		{"space", "ip-10-0-0-32"},
		{"pgup", "web-00016"},
		{"G", "ip-10-0-0-99"},
		{"down", "ip-10-0-0-99"},
		{"g", "ip-10-0-0-0"},
		{"end", "ip-10-0-0-99"},
		{"home", "ip-10-0-0-0"},
	} {
		s.press(strings.Fields(step.keys)...)
		s.at(step.want)
		s.fits()
	}
}

func TestTheCursorStaysWithItsRow(t *testing.T) {
	source := &fakeSource{nodes: 40}
	s := start(t, source, 80, 24)
	s.press("s", "s", "s") // by CPU
	s.press("down", "down", "down")
	before := s.cursor()
	source.nodes = 30
	s.tick(5 * time.Second)
	s.changed()
	s.at(before)
	s.press("G")
	source.nodes = 3
	s.tick(5 * time.Second)
	s.changed()
	if s.cursor() == "" {
		t.Errorf("no row has the cursor after its row is gone:\n%s", s.text())
	}
}

func TestViewsAreTabs(t *testing.T) {
	s := start(t, &fakeSource{nodes: 3}, 80, 24)
	for _, step := range []struct{ key, want string }{
		{"2", "[2 Pending]"}, {"5", "[5 Pools]"}, {"tab", "[1 Nodes]"}, {"right", "[2 Pending]"}, {"left", "[1 Nodes]"}, {"3", "[3 Moves]"}, {"4", "[4 Cost]"},
	} {
		s.press(step.key)
		s.has(step.want)
	}
}

func TestSort(t *testing.T) {
	s := start(t, &fakeSource{nodes: 12}, 80, 24)
	s.press("s", "s", "s")
	s.has("CPUv")
	s.at("ip-10-0-0-10")
	s.press("S")
	s.has("CPU^")
	s.at("web-00004") // unknown is the least
	s.press("s", "s")
	s.has("PRICE/Hv")
	s.press("S")
	s.at("ip-10-0-0-3")
	s.press("s", "s")
	s.lacks("v ", "^")
	s.at("ip-10-0-0-0")
}

func TestFilter(t *testing.T) {
	s := start(t, &fakeSource{nodes: 24}, 80, 24)
	s.press("/")
	s.typed("SPOT team=search !draining q")
	s.has("/SPOT team=search !draining q_", "No row matches")
	s.press("backspace", "backspace", "enter")
	s.has("1 of 8", "ip-10-0-0-1 ", "16 rows hidden") // q did not quit
	s.lacks("ip-10-0-0-7 ", "ip-10-0-0-2 ")
	s.has("/SPOT team=search !draining: 16 rows hidden")
	s.press("/")
	s.typed("xyz")
	s.press("esc")
	s.has("/SPOT team=search !draining: 16 rows hidden")
	s.press("esc")
	s.has("1 of 24")
}

func TestAPastedFilterHasNoControlCharacters(t *testing.T) {
	s := start(t, &fakeSource{nodes: 24}, 80, 24)
	s.press("/")
	s.send(tea.PasteMsg{Content: "web\n\x1b[2J"})
	s.has("/web[2J_")
}

func TestNodesAreDrilledDown(t *testing.T) {
	s := start(t, &fakeSource{nodes: 24}, 120, 60)
	s.press("j", "enter")
	s.has("Node ip-10-0-0-1.eu-west-1.compute.internal", "web-00001", "shop/web-1", "proxy-x (DaemonSet)", "reason provisioned", "would be deleted",
		"web-00001 launched", "team=search", "2026-07-01 08:00:00 (4h ago)")
	s.press("esc")
	s.at("ip-10-0-0-1")
}

func TestPlannedNodesLeadToTheirNodes(t *testing.T) {
	s := start(t, &fakeSource{nodes: 24}, 120, 60)
	s.press("2", "down", "down", "down", "enter")
	s.has("Node web-00004", "Why it is here")
	s.press("esc", "down", "enter")
	s.has("the node would be launched", "shop/web-9")
}

func TestCostLeadsToNodes(t *testing.T) {
	s := start(t, &fakeSource{nodes: 24}, 80, 24)
	s.press("4", "down", "enter")
	s.has("[1 Nodes]", "/batch-spot: 14 rows hidden")
	s.press("4", "G", "enter")
	s.has("Deployment shop/web", "bears its share")
}

func TestAVanishedNodeIsReported(t *testing.T) {
	source := &fakeSource{nodes: 5}
	s := start(t, source, 120, 40)
	s.press("G", "enter")
	source.nodes = 3
	s.tick(5 * time.Second)
	s.changed()
	s.has("it no longer exists", "Esc goes back", "web-00004")
	s.press("esc")
	s.lacks("no longer exists")
}

func TestARowThatIsGoneIsReported(t *testing.T) {
	s := start(t, &fakeSource{nodes: 5}, 120, 40)
	s.press("5", "down", "enter")
	s.docs.pools = &view.Pools{}
	s.arrange()
	s.has("no longer part of the view")
}

func TestWhatIsUnknownIsSignalledAndReachable(t *testing.T) {
	s := start(t, &fakeSource{nodes: 5, unknown: []string{"The phase of the moon is not known."}}, 80, 24)
	for _, key := range []string{"1", "2", "3", "4", "5", "1 enter"} {
		s.press(strings.Fields(key)...)
		s.has("? 1 thing not known or left out (u)")
		s.press("u")
		s.has("The phase of the moon is not known.")
		s.press("u")
		s.lacks("phase of the moon")
	}
}

func TestFailuresKeepTheLastDataAndSayWhatToDo(t *testing.T) {
	for want, err := range map[string]error{
		"connection lost":                  &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")},
		"no permission":                    apierrors.NewForbidden(corev1.Resource("nodes"), "", errors.New("no")),
		"the credentials are not accepted": apierrors.NewUnauthorized("no"),
		"the API server is too slow":       fmt.Errorf("listing nodes: %w", context.DeadlineExceeded),
		"reading failed":                   errors.New("a strange thing"),
	} {
		source := &fakeSource{nodes: 5}
		s := start(t, source, 80, 24)
		source.err = err
		s.tick(30 * time.Second)
		s.changed()
		s.has("! "+want, "data is 30s old", "30s old", "ip-10-0-0-0")
		s.fits()
		s.press("u")
		s.has("  " + err.Error())
		s.press("u")
		reads := source.reads[nodesTab]
		s.tick(time.Second)
		if source.reads[nodesTab] != reads {
			t.Errorf("the cluster is read again after %v", time.Second)
		}
		source.err = nil
		s.tick(time.Second)
		s.lacks("! ")
	}
}

// TestAClusterThatCannotBeReadAgainIsALine: with the error and the age of what is shown, in words.
func TestAClusterThatCannotBeReadAgainIsALine(t *testing.T) {
	s := start(t, &fakeSource{nodes: 5, failure: "dial tcp 10.0.0.1:443:\nconnection refused"}, 120, 24)
	s.tick(time.Minute)
	s.has("! reading the cluster failed, data is 60s old: dial tcp 10.0.0.1:443: connection refused")
	if got := unreadLine(s.docs.head(nodesTab), s.now); got[0].role != bad {
		t.Errorf("the line has the role %v", got[0].role)
	}
}

func TestDelaysBetweenAttemptsGrow(t *testing.T) {
	source := &fakeSource{err: errors.New("no")}
	s := start(t, source, 80, 24)
	s.has("no data yet")
	for range 600 {
		s.tick(time.Second)
	}
	if n := source.reads[nodesTab]; n < 20 || n > 30 {
		t.Errorf("%d attempts in ten minutes", n)
	}
	before := source.reads[nodesTab]
	s.press("r")
	if source.reads[nodesTab] != before+1 {
		t.Errorf("r does not read the cluster")
	}
}

func TestChangesAreReadOncePerInterval(t *testing.T) {
	source := &fakeSource{nodes: 5}
	s := start(t, source, 80, 24)
	for range 10 {
		s.changed()
	}
	if n := source.reads[nodesTab]; n != 1 {
		t.Errorf("the fleet was read %d times at once", n)
	}
	for range 10 {
		s.tick(time.Second)
	}
	if n := source.reads[nodesTab]; n != 2 {
		t.Errorf("the fleet was read %d times, once is due after the interval", n)
	}
	if n := source.reads[movesTab]; n != 0 {
		t.Errorf("a view that is not on the screen was read %d times", n)
	}
}

func TestPause(t *testing.T) {
	source := &fakeSource{nodes: 5}
	s := start(t, source, 80, 24)
	s.press("p")
	s.has("PAUSED")
	s.tick(20 * time.Second)
	s.changed()
	s.has("20s old")
	if n := source.reads[nodesTab]; n != 1 {
		t.Errorf("the fleet was read %d times while paused", n)
	}
	s.press("2")
	s.has("shop/huge") // nothing was there to be kept
	s.press("1", "p")
	s.lacks("PAUSED")
	if n := source.reads[nodesTab]; n < 2 {
		t.Errorf("the change is not read after the pause")
	}
}

func TestASourceWithoutChangesIsPolled(t *testing.T) {
	source := &fakeSource{nodes: 5}
	s := start(t, source, 80, 24)
	s.polled = true
	for range 10 {
		s.now = s.now.Add(time.Second)
		m, _ := s.Model.update(tickMsg{})
		s.Model = m
		for t := range m.reading {
			s.Model.reading[t] = false
		}
	}
	if got := s.Model.begun; got.Before(noon().Add(8 * time.Second)) {
		t.Errorf("the last read began at %v", got)
	}
}

func TestEveryKeyIsBoundOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range bindings() {
		for _, key := range b.keys {
			if seen[key] {
				t.Errorf("the key %s has two actions", key)
			}
			seen[key] = true
		}
		if b.about == "" || b.shown == "" {
			t.Errorf("the action %d is not explained", b.action)
		}
	}
	for a := noAction + 1; a <= quit; a++ {
		found := false
		for _, b := range bindings() {
			found = found || b.action == a
		}
		if !found {
			t.Errorf("no key does %d", a)
		}
	}
}
