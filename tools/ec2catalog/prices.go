package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// wholeRegion matches regions; local zones and zones at carriers have longer names in the data set.
var wholeRegion = regexp.MustCompile(`^[a-z]{2}(-gov)?-[a-z]+-\d$`)

// writePrices writes the on-demand prices of all types in all regions.
func writePrices(path string) error {
	src, err := openSource()
	if err != nil {
		return err
	}
	instances, err := src.read()
	if err != nil {
		return err
	}
	data, err := encodePrices(src, instances)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// encodePrices writes a header with the origin of the data, the regions, then one type per line, sorted by name: for each
// region a price, or nothing if the type is not offered.
func encodePrices(src source, instances []instance) ([]byte, error) {
	prices := map[string]map[string]float64{} // by type, by region
	known := map[string]bool{}
	var names []string
	for _, in := range instances {
		of := map[string]float64{}
		for region, p := range in.Pricing {
			if wholeRegion.MatchString(region) && p.Linux != nil && p.Linux.OnDemand > 0 {
				of[region], known[region] = p.Linux.OnDemand, true
			}
		}
		if len(of) == 0 {
			continue
		}
		if prices[in.Type] != nil {
			return nil, fmt.Errorf("type %q appears twice", in.Type)
		}
		prices[in.Type] = of
		names = append(names, in.Type)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no type has a price")
	}
	slices.Sort(names)
	var regions []string
	for region := range known {
		regions = append(regions, region)
	}
	slices.Sort(regions)
	var b bytes.Buffer
	b.WriteString("# Written by tools/ec2catalog -prices. DO NOT EDIT.\n# On-demand prices of Linux in USD an hour; nothing between two commas where a type is not offered.\n")
	fmt.Fprintf(&b, "source,%s %s\ndate,%s\nregions,%s\n", src.path, src.version, src.date, strings.Join(regions, ","))
	for _, name := range names {
		cells := []string{name}
		for _, region := range regions {
			cell := ""
			if price := prices[name][region]; price > 0 {
				cell = strconv.FormatFloat(price, 'f', -1, 64)
			}
			cells = append(cells, cell)
		}
		b.WriteString(strings.TrimRight(strings.Join(cells, ","), ",") + "\n")
	}
	return b.Bytes(), nil
}
