#include "gateway/audit/chart.h"

#include "gateway/audit/markup.h"

#include <inttypes.h>

enum {
	WIDTH = 720,
	HEIGHT = 150,
	FOOT = 20
};

static bool
on_bucket(const struct query_cell *cells, size_t count, void *arg)
{
	struct chart *chart = arg;
	int64_t bucket = cells[0].number;

	if (count < 3 || bucket < 0 || bucket >= CHART_BARS)
		return true;
	chart->allowed[bucket] = cells[1].number;
	chart->refused[bucket] = cells[2].number;
	if (cells[1].number + cells[2].number > chart->most)
		chart->most = cells[1].number + cells[2].number;
	return true;
}

/* Seconds since the beginning, as an axis has them. */
static void
put_since(FILE *out, int64_t us)
{
	if (us < 10000000)
		(void)fprintf(out, "%.1f s", (double)us / 1e6);
	else if (us < INT64_C(600000000))
		(void)fprintf(out, "%.0f s", (double)us / 1e6);
	else if (us < INT64_C(36000000000))
		(void)fprintf(out, "%.0f min", (double)us / 6e7);
	else
		(void)fprintf(out, "%.1f h", (double)us / 3.6e9);
}

static void
put_bar(FILE *out, const struct chart *chart, int at)
{
	double scale = (double)(HEIGHT - FOOT - 14) / (double)chart->most;
	double allowed = (double)chart->allowed[at] * scale;
	double refused = (double)chart->refused[at] * scale;
	double foot = HEIGHT - FOOT, step = 12;

	if (chart->allowed[at] + chart->refused[at] == 0)
		return;
	markup_raw(out, "<g><title>after ");
	put_since(out, chart->span_us / CHART_BARS * at);
	(void)fprintf(out,
	    ": %" PRId64 " allowed, %" PRId64 " refused</title>"
	    "<rect class=\"allowed\" x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" "
	    "height=\"%.1f\"/><rect class=\"refused\" x=\"%.0f\" y=\"%.1f\" "
	    "width=\"%.0f\" height=\"%.1f\"/></g>",
	    chart->allowed[at], chart->refused[at], at * step + 1,
	    foot - allowed, step - 2, allowed, at * step + 1,
	    foot - allowed - refused, step - 2, refused);
}

struct query_reader
chart_reader(struct chart *chart)
{
	return (struct query_reader){ NULL, on_bucket, chart };
}

static void
put_axis(const struct chart *chart, FILE *out)
{
	for (int i = 0; i <= 4; i++) {
		(void)fprintf(out,
		    "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">",
		    WIDTH * i / 4, HEIGHT - 5,
		    i == 0   ? "start"
		    : i == 4 ? "end"
			     : "middle");
		put_since(out, chart->span_us / 4 * i);
		markup_raw(out, "</text>");
	}
}

void
chart_write(const struct chart *chart, FILE *out)
{
	if (chart->most == 0)
		return;
	(void)fprintf(out,
	    "<section id=\"time\"><h2>%s</h2><p class=\"key\"><span>allowed"
	    "</span><span>refused</span></p><div class=\"wide\"><svg "
	    "viewBox=\"0 0 %d %d\" "
	    "role=\"img\" aria-label=\"%s\">",
	    chart->title, WIDTH, HEIGHT, chart->title);
	(void)fprintf(out,
	    "<text x=\"0\" y=\"10\">%" PRId64 "</text><line class=\"axis\" "
	    "x1=\"0\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>",
	    chart->most, WIDTH, HEIGHT - FOOT, HEIGHT - FOOT);
	for (int i = 0; i < CHART_BARS; i++)
		put_bar(out, chart, i);
	put_axis(chart, out);
	markup_raw(out, "</svg></div></section>\n");
}
