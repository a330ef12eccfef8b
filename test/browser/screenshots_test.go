package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/karpenter-anew/karpenter/test/browser/fixture"
)

// largestImage is the most bytes that an image of the documentation may have.
const largestImage = 150_000

type shot struct {
	name, hash, scheme, wait string
	width, height            int64
}

func shots(node string) []shot {
	return []shot{
		{"fleet", "#/fleet", "light", "performance.getEntriesByName('fleet-drawn').length > 0", 1280, 800},
		{"fleet-large", "#/fleet", "light", "performance.getEntriesByName('fleet-drawn').length > 0", 1280, 800},
		{"fleet-dark", "#/fleet?color=zone&group=example.com/team&order=-cpu", "dark", "performance.getEntriesByName('fleet-drawn').length > 0", 1280, 800},
		{"fleet-narrow", "#/fleet", "dark", "performance.getEntriesByName('fleet-drawn').length > 0", 360, 740},
		{"node", "#/node/" + node, "light", "document.querySelector('.life')", 1280, 900},
		{"pending", "#/pending", "light", "document.querySelector('.cards')", 1280, 640},
		{"moves", "#/moves", "light", "document.querySelector('table')", 1280, 720},
		{"cost", "#/cost", "light", "document.querySelector('.chart canvas')", 1280, 900},
		{"pools", "#/pools", "light", "document.querySelector('.cards')", 1280, 720},
		{"edit", "#/edit", "light", "document.querySelector('textarea')", 1280, 800},
		{"node-dark", "#/node/" + node, "dark", "document.querySelector('.life')", 1280, 900},
		{"pending-dark", "#/pending", "dark", "document.querySelector('.cards')", 1280, 640},
		{"moves-dark", "#/moves", "dark", "document.querySelector('table')", 1280, 720},
		{"moves-narrow", "#/moves", "light", "document.querySelector('table')", 360, 740},
		{"cost-dark", "#/cost", "dark", "document.querySelector('.chart canvas')", 1280, 900},
		{"pools-dark", "#/pools", "dark", "document.querySelector('.cards')", 1280, 720},
		{"edit-dark", "#/edit", "dark", "document.querySelector('textarea')", 1280, 800},
		{"history-light", "#/history?at=2026-03-02T07:12:00Z", "light", "performance.getEntriesByName('fleet-drawn').length > 0", 1280, 800},
		{"banner", "#/fleet", "light", "performance.getEntriesByName('fleet-drawn').length > 0", 1280, 400},
		{"history", "#/history?at=2026-03-02T07:12:00Z", "dark", "performance.getEntriesByName('fleet-drawn').length > 0", 1280, 800},
	}
}

// TestImagesOfTheDocumentation writes them with -screenshots, and checks their sizes without.
func TestImagesOfTheDocumentation(t *testing.T) {
	fleet := fixture.New(400, 8000)
	for _, s := range shots(blocked(t, fleet)) {
		file := filepath.Join("..", "..", "docs", "images", "console-"+s.name+".png")
		if *screenshots {
			shown := fleet
			if s.name == "fleet-large" {
				shown = large(t)
			}
			gate := &gate{next: fixture.Handler(shown)}
			server := httptest.NewServer(gate)
			t.Cleanup(func() {
				server.CloseClientConnections()
				server.Close()
			})
			p := open(t, server.URL)
			p.size(s.width, s.height)
			p.scheme(s.scheme)
			p.visit(s.hash)
			p.until(s.wait)
			p.until("document.querySelector('.c-live')")
			if s.name == "banner" {
				p.allow("net::ERR_")
				gate.closed.Store(true)
				server.CloseClientConnections()
				p.shows(".banner.lost", "The connection to the server is lost")
			}
			if strings.HasPrefix(s.name, "edit") {
				p.click("Open those of the cluster")
				p.until("document.querySelector('textarea').value !== ''")
				p.run(chromedp.SendKeys("textarea", "# fewer types\n"))
				p.shows(".output", "moves 412 pods")
			}
			p.run(chromedp.Sleep(500 * time.Millisecond)) // transitions
			data, err := chromedp.Run(p.tab, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, reduced(t, data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v: write it with go test -run Images -screenshots", err)
			continue
		}
		if len(data) > largestImage {
			t.Errorf("%s has %d bytes, at most %d are wanted", file, len(data), largestImage)
		}
		if c, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || int64(c.Width) != s.width {
			t.Errorf("%s: width %d, error %v, want width %d", file, c.Width, err, s.width)
		}
	}
}

// spread chooses 256 of the colors, which are in the order of frequency: the most frequent, then those that differ most from all others, such as
// that of a small mark.
func spread(colors color.Palette) color.Palette {
	const all, frequent = 256, 160
	if len(colors) <= all {
		return colors
	}
	chosen, rest := slices.Clone(colors[:frequent]), colors[frequent:]
	for len(chosen) < all {
		farthest := slices.MaxFunc(rest, func(a, b color.Color) int {
			return cmp.Compare(distance(chosen.Convert(a), a), distance(chosen.Convert(b), b))
		})
		chosen = append(chosen, farthest)
	}
	return chosen
}

func distance(a, b color.Color) uint64 {
	r1, g1, b1, _ := a.RGBA()
	r2, g2, b2, _ := b.RGBA()
	square := func(x, y uint32) uint64 { d := int64(x) - int64(y); return uint64(d * d) }
	return square(r1, r2) + square(g1, g2) + square(b1, b2)
}

// reduced has 256 of the colors of an image, and the nearest of them for the others.
func reduced(t *testing.T, data []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[color.Color]int{}
	b := from.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			counts[from.At(x, y)]++
		}
	}
	colors := make(color.Palette, 0, len(counts))
	for c := range counts {
		colors = append(colors, c)
	}
	slices.SortFunc(colors, func(a, b color.Color) int {
		r1, g1, b1, _ := a.RGBA()
		r2, g2, b2, _ := b.RGBA()
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(r1, r2), cmp.Compare(g1, g2), cmp.Compare(b1, b2))
	})
	colors = spread(colors)
	nearest := map[color.Color]uint8{}
	to := image.NewPaletted(b, colors)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := from.At(x, y)
			i, ok := nearest[c]
			if !ok {
				i = uint8(colors.Index(c))
				nearest[c] = i
			}
			to.SetColorIndex(x, y, i)
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
