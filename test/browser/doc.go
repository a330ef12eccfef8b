// Package browser holds tests of the console's page in Chromium: what each view shows, keys, screen readers, contrast, narrow windows, large
// fleets, lost connections, and that the content security policy holds.
//
// It is a separate module because the client of the browser's protocol would bring its generated types into the product's.
package browser
