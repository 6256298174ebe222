# The legend beside a plot of several curves or groups. Needs `entries` (how many), `right` (where the plot ends).
# gnuplot drops lines of a legend that is higher than the plot, so they come closer and then have smaller letters.
# `letters` is the font's size and `line_height` what gnuplot gives a line of it, in pixels, by style.gp.
set rmargin at screen right
legend_height = 440.0
widest_pitch = 20.5
most_of_full_size = 27.0
pitch = entries * widest_pitch > legend_height ? legend_height / entries : widest_pitch
shrunk = entries > most_of_full_size ? most_of_full_size / entries : 1
legend_font = sprintf(",%.3g", letters * shrunk)
if (entries > 1) {
    set key at screen right + 0.012, screen 0.5 left center vertical reverse Left width 0 samplen 2 maxcols 1 \
        spacing pitch / (line_height * shrunk) font legend_font
} else {
    unset key
}
