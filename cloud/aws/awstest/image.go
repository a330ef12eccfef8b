package awstest

import (
	"slices"
	"time"
)

// Image is an image.
type Image struct {
	ID, Name, Architecture string
	// Owner is an account, or amazon.
	Owner      string
	Created    time.Time
	Deprecated time.Time
	// State is available if it is empty.
	State string
	Tags  map[string]string
}

// AddImage adds an image, or replaces the one with its id.
func (a *Account) AddImage(i Image) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.images = append(slices.DeleteFunc(a.images, func(have Image) bool { return have.ID == i.ID }), i)
}

func describeImages(a *Account, f *form) (any, error) {
	conditions, err := filters(f, "image-id", "name", "state", "architecture", "owner-id")
	if err != nil {
		return nil, err
	}
	owners, outdated := f.list("Owner"), f.flag("IncludeDeprecated")
	now := a.clock.Now()
	found := keep(a.images, func(i Image) bool {
		owned := len(owners) == 0 || slices.ContainsFunc(owners, func(owner string) bool {
			return owner == i.Owner || owner == "self" && i.Owner == AccountID
		})
		if !owned || !outdated && !i.Deprecated.IsZero() && !i.Deprecated.After(now) {
			return false
		}
		state := i.State
		if state == "" {
			state = "available"
		}
		return meets(conditions, i.Tags, map[string][]string{
			"image-id": {i.ID}, "name": {i.Name}, "state": {state}, "architecture": {i.Architecture}, "owner-id": {i.Owner},
		})
	})
	found, token, err := page(f, found, 1000, false)
	type wire struct {
		ID           string    `xml:"imageId"`
		Name         string    `xml:"name"`
		Architecture string    `xml:"architecture"`
		Owner        string    `xml:"imageOwnerId"`
		State        string    `xml:"imageState"`
		Created      string    `xml:"creationDate"`
		Deprecated   string    `xml:"deprecationTime,omitempty"`
		Tags         []wireTag `xml:"tagSet>item"`
	}
	answer := struct {
		Images []wire `xml:"imagesSet>item"`
		Token  string `xml:"nextToken,omitempty"`
	}{Token: token}
	for _, i := range found {
		w := wire{i.ID, i.Name, i.Architecture, i.Owner, "available", stamp(i.Created), "", wireTags(i.Tags)}
		if !i.Deprecated.IsZero() {
			w.Deprecated = stamp(i.Deprecated)
		}
		answer.Images = append(answer.Images, w)
	}
	return answer, err
}
