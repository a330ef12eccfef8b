package userdata

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
)

const (
	// boundary separates the parts of an archive.
	boundary = "//"
	// archiveHead is the header of an archive.
	archiveHead = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"" + boundary + "\"\n\n"

	typeShell      = `text/x-shellscript; charset="us-ascii"`
	typeNodeConfig = "application/node.eks.aws"

	headerType     = "Content-Type"
	headerEncoding = "Content-Transfer-Encoding"
)

// part is one part of a MIME archive.
type part struct {
	header  map[string][]string
	content string
}

// newPart is a part with a content type and no other headers.
func newPart(contentType, content string) part {
	return part{map[string][]string{headerType: {contentType}}, content}
}

// isArchive reports whether a user's data is a MIME document; the two headers may come in either order.
func isArchive(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "MIME-Version:") || strings.HasPrefix(text, "Content-Type:")
}

// parseArchive reads the parts of a MIME document. Their content stays encoded as it is.
func parseArchive(text string) ([]part, error) {
	parts, err := readParts(text)
	if err != nil {
		return nil, fmt.Errorf("parsing custom user data input %w", err)
	}
	return parts, nil
}

func readParts(text string) ([]part, error) {
	message, err := mail.ReadMessage(strings.NewReader(strings.TrimSpace(text)))
	if err != nil {
		return nil, err
	}
	mediaType, params, err := mime.ParseMediaType(message.Header.Get(headerType))
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(mediaType, "multipart/") {
		return nil, fmt.Errorf("of type %q: not multipart", mediaType)
	}
	if params["boundary"] == "" {
		return nil, errors.New("without boundary")
	}
	var parts []part
	reader := multipart.NewReader(message.Body, params["boundary"])
	for {
		// NextRawPart, because NextPart would decode quoted-printable content and drop its header.
		raw, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(raw)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{raw.Header, string(content)})
	}
}

// plain is a part with only its type; the content is decoded, because the encoding header is dropped.
func (p part) plain() (part, error) {
	header := textproto.MIMEHeader(p.header)
	var content io.Reader = strings.NewReader(p.content)
	encoding := strings.ToLower(header.Get(headerEncoding))
	switch encoding {
	case "base64":
		content = base64.NewDecoder(base64.StdEncoding, content)
	case "quoted-printable":
		content = quotedprintable.NewReader(content)
	}
	decoded, err := io.ReadAll(content)
	if err != nil {
		return part{}, fmt.Errorf("parsing custom user data input in %s: %w", encoding, err)
	}
	return newPart(header.Get(headerType), string(decoded)), nil
}

// archive writes parts in order, without carriage returns. A part that contains the boundary is an error: it
// would be read as two parts.
func archive(parts []part) (string, error) {
	var out strings.Builder
	out.WriteString(archiveHead)
	for i, p := range parts {
		content := strings.ReplaceAll(p.content, "\r", "")
		if strings.HasPrefix(content, "--"+boundary) || strings.Contains(content, "\n--"+boundary) {
			return "", fmt.Errorf("part %d has a line that begins with --%s, which separates parts", i+1, boundary)
		}
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString("--" + boundary + "\n")
		for _, key := range slices.Sorted(maps.Keys(p.header)) {
			for _, value := range p.header[key] {
				out.WriteString(key + ": " + strings.ReplaceAll(value, "\r", "") + "\n")
			}
		}
		out.WriteString("\n" + content)
	}
	out.WriteString("\n--" + boundary + "--\n")
	return out.String(), nil
}
