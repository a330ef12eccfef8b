// Package pricetable reads the embedded tables of prices of the cloud providers.
package pricetable

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table is the prices of one place.
type Table struct {
	// Prices are those of an hour by instance type.
	Prices map[string]float64
	// Place is the region or location that the prices are of: the fallback if those of the one that was asked for are not known.
	Place string
	// Source is where the prices are from, and Date the day of the prices, as year-month-day.
	Source, Date string
}

// Read reads lines of values between commas: what the table is from, the places in the line that begins with places, such as regions, and then
// an instance type and its prices in the order of the places, with nothing where it is not offered. Lines that begin with # do not count. It
// fails if there is neither the place nor the fallback, and for a value that is no price.
func Read(text, places, place, fallback string) (Table, error) {
	out := Table{Prices: map[string]float64{}, Place: place}
	column := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSuffix(line, "\n"), ",")
		switch {
		case fields[0] == "source" && len(fields) == 2:
			out.Source = fields[1]
		case fields[0] == "date" && len(fields) == 2:
			out.Date = fields[1]
		case fields[0] == places:
			if column = 1 + slices.Index(fields[1:], place); column == 0 {
				out.Place, column = fallback, 1+slices.Index(fields[1:], fallback)
			}
		case column == 0:
			return out, fmt.Errorf("line %q comes before the %s", line, places)
		case column < len(fields) && fields[column] != "":
			price, err := strconv.ParseFloat(fields[column], 64)
			if err != nil || !Valid(price) {
				return out, fmt.Errorf("line %q: %q is no price", line, fields[column])
			}
			out.Prices[fields[0]] = price
		}
	}
	if column == 0 {
		return out, fmt.Errorf("there is neither %q nor %q among the %s", place, fallback, places)
	}
	return out, nil
}

// Valid reports whether a price is one: positive and finite.
func Valid(price float64) bool { return price > 0 && !math.IsInf(price, 0) }
