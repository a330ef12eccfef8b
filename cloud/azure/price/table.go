package price

import (
	_ "embed" // for the table
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// parseTable reads lines of values between commas: what the table is from, the locations, and then a SKU and its prices.
func parseTable(text, location string) (Table, error) {
	out := Table{Prices: map[string]float64{}, Location: strings.ToLower(location)}
	column := -1
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
		case fields[0] == "locations":
			if column = slices.Index(fields, out.Location); column < 1 {
				out.Location = fallbackLocation
				column = slices.Index(fields, fallbackLocation)
			}
		case column < 0:
			return out, fmt.Errorf("line %q comes before the locations", line)
		case column < len(fields) && fields[column] != "":
			price, err := strconv.ParseFloat(fields[column], 64)
			if err != nil || !valid(price) {
				return out, fmt.Errorf("line %q: %q is no price", line, fields[column])
			}
			out.Prices[fields[0]] = price
		}
	}
	if column < 0 {
		return out, fmt.Errorf("there is neither location %q nor %q", location, fallbackLocation)
	}
	return out, nil
}
