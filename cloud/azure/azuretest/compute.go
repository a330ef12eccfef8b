package azuretest

import "net/http"

// computeRoutes are those of SKUs, quotas, galleries and disk encryption sets.
func computeRoutes() []route {
	location := "/subscriptions/{}/providers/Microsoft.Compute/locations/{}/"
	return []route{
		readRoute("/subscriptions/{}/providers/Microsoft.Compute/skus", "skus", "2021-07-01", listSKUs),
		readRoute(location+"usages", "usages", versionCompute, listUsages),
		readRoute(location+"communityGalleries/{}/images/{}/versions", "versions", "2025-03-03", listVersions),
		readRoute(inGroup("Microsoft.Compute/diskEncryptionSets")+"/{}", "diskEncryptionSets", "2025-01-02", getResource),
	}
}

// GalleryID is the ID under which versions of an image of a community gallery are put.
func GalleryID(location, gallery, image string) string {
	return "/subscriptions/" + Subscription + "/providers/Microsoft.Compute/locations/" + location + "/communityGalleries/" + gallery + "/images/" + image
}

// listVersions lists the versions of an image of a community gallery.
func listVersions(a *Account, r *request) (*response, error) {
	if a.get(GalleryID(r.names[1], r.names[2], r.names[3])) == nil {
		return nil, refuse(http.StatusNotFound, "ResourceNotFound", "The community gallery image '%s' of the gallery '%s' was not found.", r.names[3], r.names[2])
	}
	return listGroup(a, r)
}
