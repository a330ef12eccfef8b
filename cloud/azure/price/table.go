package price

import (
	_ "embed" // for the table
	"fmt"
	"strings"

	"github.com/karpenter-anew/karpenter/cloud/pricetable"
)

// tableText is what on-demand instances cost on a day: the header says which, and where that is from.
//
//go:generate go run -C ../../../tools/ec2catalog . -azure-prices ../../cloud/azure/price/table.txt
//go:embed table.txt
var tableText string

// fallbackLocation is the location whose prices are used where those of a location are not known.
const fallbackLocation = "eastus"

// Table is the embedded on-demand prices of a location.
type Table struct {
	// Prices are in US dollars per hour, by name of the SKU without its tier.
	Prices map[string]float64
	// Location is the location that the prices are of. It is another one than that of the nodes if their prices are not known.
	Location string
	// Source is where the prices are from, and Date the day of the prices, as year-month-day.
	Source, Date string
}

// TableFor returns the prices of a location; those of another one where its own are not known. It takes a few milliseconds: ask once.
func TableFor(location string) Table {
	table, err := parseTable(tableText, location)
	if err != nil {
		// The table is embedded, and a test parses it: only a broken build gets here.
		panic(fmt.Sprintf("reading the embedded table of prices: %v", err))
	}
	return table
}

// Locations are those whose prices the table has, sorted.
func Locations() []string {
	for line := range strings.Lines(tableText) {
		if names, ok := strings.CutPrefix(line, places+","); ok {
			return strings.Split(strings.TrimSpace(names), ",")
		}
	}
	return nil
}

// places begins the line of the table with the names of its locations.
const places = "locations"

// parseTable reads the table for a location.
func parseTable(text, location string) (Table, error) {
	read, err := pricetable.Read(text, places, strings.ToLower(location), fallbackLocation)
	if err != nil {
		return Table{}, err
	}
	return Table{Prices: read.Prices, Location: read.Place, Source: read.Source, Date: read.Date}, nil
}
