# Curves with an optional band. Needs $data (blocks of x, y, low, high; two empty lines between), $published (x, y,
# curve; `published`: how many), `series` (how many), array `names`, `marks` (1: points on the lines),
# `mark_every` (of how many points one has its mark), `band` (1: low to high), `right` (where the plot ends, the legend
# beside it).
entries = series
load "legend.gp"
# a legend shows the marks of curves that have them
mark(i) = marks ? mark_type(i) : -1
if (band) {
    plot for [i = 1:series] $data index i - 1 using 1:3:4 with filledcurves linetype i notitle, \
         for [i = 1:series] $data index i - 1 using 1:2 with linespoints linetype i pointtype mark(i) pointsize mark_size pointinterval mark_every title names[i], \
         for [i = 1:(published ? series : 0)] $published using (int($3) == i ? $1 : NaN):2 with points linetype i pointtype 6 pointsize 2 * mark_size notitle
} else {
    plot for [i = 1:series] $data index i - 1 using 1:2 with linespoints linetype i pointtype mark(i) pointsize mark_size pointinterval mark_every title names[i], \
         for [i = 1:(published ? series : 0)] $published using (int($3) == i ? $1 : NaN):2 with points linetype i pointtype 6 pointsize 2 * mark_size notitle
}
