package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/karpenter-anew/karpenter/bench/contest"
)

// markdown is the table of docs/performance.md.
func (r results) markdown() string {
	var b strings.Builder
	b.WriteString("| Case | Pods | Time, s | Upstream, s | Faster | MB | Upstream, MB | Bytes | Nodes, this / upstream | $/h, this / upstream | Price | Bound | Gap |\n")
	b.WriteString(strings.Repeat("|---", 13) + "|\n")
	for _, one := range r.Rows {
		if one.Ours != nil {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(one.cells(), " | "))
		}
	}
	return b.String()
}

// none stands for a figure that was not measured.
const none = "–"

// cells are the columns of a row. Ratios are empty where upstream did not run, or placed other pods.
func (r row) cells() []string {
	bound, gap := none, none
	if r.Ours.LowerBound > 0 {
		bound = dollars(r.Ours.LowerBound)
	}
	if r.OursGap != nil {
		gap = fmt.Sprintf("%.1f %%", 100**r.OursGap)
	}
	faster, bytes, price := "", "", ""
	theirs := [4]string{none, none, none, none}
	if u := r.Upstream; u != nil {
		theirs = [4]string{seconds(u.Seconds), megabytes(u), strconv.Itoa(u.Nodes), dollars(u.DollarsPerHour)}
		faster, bytes = grouped(fmt.Sprintf("%.0f", r.Speedup), ",")+"×", fmt.Sprintf("1/%.0f", r.Thrift)
	}
	if r.Price > 0 {
		price = strings.Replace(fmt.Sprintf("%+.1f %%", 100*(r.Price-1)), "-", "−", 1)
	}
	return []string{
		"`" + r.Case + "`", grouped(strconv.Itoa(r.Pods), " "), seconds(r.Ours.Seconds), theirs[0], faster, megabytes(r.Ours), theirs[1], bytes,
		strconv.Itoa(r.Ours.Nodes) + " / " + theirs[2], dollars(r.Ours.DollarsPerHour) + " / " + theirs[3], price, bound, gap,
	}
}

// seconds has four digits after the point below a tenth of a second, and two above.
func seconds(s float64) string {
	if s < 0.1 {
		return fmt.Sprintf("%.4f", s)
	}
	return fmt.Sprintf("%.2f", s)
}

func megabytes(s *contest.Score) string {
	mb := float64(s.AllocatedBytes) / 1e6
	if mb < 10 {
		return fmt.Sprintf("%.1f", mb)
	}
	return grouped(fmt.Sprintf("%.0f", mb), " ")
}

func dollars(d float64) string {
	whole, part, _ := strings.Cut(fmt.Sprintf("%.2f", d), ".")
	return grouped(whole, " ") + "." + part
}

// grouped has a separator before every third digit of a whole number.
func grouped(digits, separator string) string {
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + separator + digits[at:]
	}
	return digits
}
