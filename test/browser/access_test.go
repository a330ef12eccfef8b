package browser

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"

	"github.com/karpenter-anew/karpenter/test/browser/fixture"
)

// contrast is a function that lists texts with too little contrast.
//
//go:embed testdata/contrast.js
var contrast string

// hashes are all views, with a document.
func hashes(t *testing.T, fleet *fixture.Fleet) []string {
	t.Helper()
	return []string{"#/fleet", "#/fleet?show=table", "#/fleet?color=zone&fill=none", "#/node", "#/node/" + blocked(t, fleet), "#/pending", "#/moves", "#/cost", "#/pools", "#/edit", "#/history", "#/fleet?at=2026-03-02T08:00:00Z"}
}

func (p *page) settled() {
	p.Helper()
	p.until("document.querySelector('main') && !document.querySelector('main [role=status]')?.innerText.includes('Reading') && document.querySelector('main').innerText.length > 60")
}

func TestTextHasContrast(t *testing.T) {
	fleet := fixture.New(40, 400)
	p := open(t, serve(t, fleet).URL)
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		for _, hash := range hashes(t, fleet) {
			p.visit(hash)
			p.settled()
			for _, f := range eval[[]string](p, contrast+"\nlowContrast(4.5)") {
				t.Errorf("%s, %s: %s", hash, scheme, f)
			}
		}
	}
}

func TestEveryViewFitsNarrowWindows(t *testing.T) {
	fleet := fixture.New(400, 8000)
	p := open(t, serve(t, fleet).URL)
	for _, width := range []int64{360, 768, 1280} {
		p.size(width, 740)
		for _, hash := range hashes(t, fleet) {
			p.visit(hash)
			p.settled()
			if wide := eval[int](p, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
				t.Errorf("%s is %d pixels wider than a window of %d", hash, wide, width)
			}
		}
	}
}

// TestScreenReadersHearEverything looks at what Chromium hands to them: landmarks, headings, and a name for everything that can be operated.
func TestScreenReadersHearEverything(t *testing.T) {
	fleet := fixture.New(40, 400)
	p := open(t, serve(t, fleet).URL)
	for _, hash := range hashes(t, fleet) {
		p.visit(hash)
		p.settled()
		tree, err := chromedp.Call(p.tab, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for _, n := range tree.Nodes {
			if n.Ignored || n.Role == nil {
				continue
			}
			role := strings.Trim(string(n.Role.Value), `"`)
			name := ""
			if n.Name != nil {
				name = strings.Trim(string(n.Name.Value), `"`)
			}
			seen[role]++
			switch role {
			case "button", "link", "textbox", "searchbox", "combobox", "slider", "listbox", "region", "navigation", "complementary", "image", "img":
				if strings.TrimSpace(name) == "" {
					t.Errorf("%s: a %s has no name (%s)", hash, role, fmt.Sprint(n.BackendDOMNodeID))
				}
			}
		}
		for _, role := range []string{"banner", "navigation", "main", "heading"} {
			if seen[role] == 0 {
				t.Errorf("%s: there is no %s", hash, role)
			}
		}
		if ones := eval[int](p, "document.querySelectorAll('h1').length"); ones != 1 {
			t.Errorf("%s has %d headings of the first level", hash, ones)
		}
	}
	p.visit("#/fleet")
	p.until("document.querySelector('[aria-live=polite]').innerText.includes('40 nodes shown')")
}
