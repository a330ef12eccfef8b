package awstest

import (
	"strconv"
)

// page returns the requested part of a list, and the token for the next part; empty at the end. The page size is limited as in EC2
// for the call. A call with IDs must not ask for pages.
func page[T any](f *form, all []T, most int, byID bool) ([]T, string, error) {
	size, sized, err := f.number("MaxResults")
	if err != nil {
		return nil, "", err
	}
	switch {
	case sized && byID:
		return nil, "", refuse("InvalidParameterCombination", "The parameter MaxResults cannot be used with the parameter that lists ids")
	case sized && (size < 5 || size > most):
		return nil, "", refuse("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value between 5 and %d.", size, most)
	case !sized:
		size = len(all)
	}
	from := 0
	if token := f.text("NextToken"); token != "" {
		if from, err = strconv.Atoi(token); err != nil || from > len(all) {
			return nil, "", refuse("InvalidNextToken", "The token %q is invalid", token)
		}
	}
	to := min(from+size, len(all))
	if to == len(all) {
		return all[from:to], "", nil
	}
	return all[from:to], strconv.Itoa(to), nil
}
